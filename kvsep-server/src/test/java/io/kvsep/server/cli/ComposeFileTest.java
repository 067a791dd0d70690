package io.kvsep.server.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import picocli.CommandLine.ParseResult;

/** The file for containers of the distribution: its commands are some that there are. */
final class ComposeFileTest {
  private static final Pattern SERVICE =
      Pattern.compile("(?m)^  (\\w+):\\n    <<: \\*node\\n    command: \\[([^\\]]*)\\]");

  @Test
  void everyServiceIsANodeOfItsNameAmongTheSamePeers() throws IOException {
    String text = Files.readString(Path.of("src/dist/compose.yaml"));
    assertTrue(text.indexOf('\t') < 0);
    List<String> peers = List.of();
    int count = 0;
    for (var service : SERVICE.matcher(text).results().toList()) {
      String[] words =
          Arrays.stream(service.group(2).split("\\s*,\\s*(?=([^\"]*\"[^\"]*\")*[^\"]*$)"))
              .map(word -> word.replace("\"", "").strip())
              .toArray(String[]::new);
      Streams streams =
          Streams.of(
              new ByteArrayInputStream(new byte[0]),
              new ByteArrayOutputStream(),
              new ByteArrayOutputStream());
      ParseResult serve = Kvsep.commandLine(streams).parseArgs(words).subcommand();
      assertEquals("serve", serve.commandSpec().name());
      assertEquals(service.group(1), serve.matchedOptionValue("--node", ""));
      List<String> found = serve.matchedOption("--peers").originalStringValues();
      assertTrue(found.toString().contains(service.group(1) + "="), found::toString);
      assertTrue(count == 0 || peers.equals(found), found::toString);
      peers = found;
      count++;
    }
    assertEquals(3, count);
  }
}
