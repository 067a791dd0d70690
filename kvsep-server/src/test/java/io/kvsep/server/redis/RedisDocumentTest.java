package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.Documents;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.Test;

/** The table of commands in the documentation is that of the server. */
final class RedisDocumentTest {
  @Test
  void everyCommandIsInTheTableAndNoOther() throws IOException {
    List<String> documented = new ArrayList<>();
    for (List<String> row : Documents.rows("redis.md", "command")) {
      Arrays.stream(row.get(0).split(", ", -1))
          .map(name -> name.toLowerCase(Locale.ROOT))
          .forEach(documented::add);
    }
    documented.sort(null);

    assertEquals(new CommandTable().all().stream().map(Command::name).toList(), documented);
  }
}
