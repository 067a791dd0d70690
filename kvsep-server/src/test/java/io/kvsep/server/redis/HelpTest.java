package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Subcommands that tell of others. */
final class HelpTest {
  @TempDir Path directory;
  private RunningRedis redis;
  private RawClient client;

  @BeforeEach
  void open() throws IOException {
    redis = RunningRedis.in(directory);
    client = redis.connect();
  }

  @AfterEach
  void close() throws IOException {
    client.close();
    redis.close();
  }

  /** Errors of unknown subcommands point to it. */
  @Test
  void helpNamesSubcommandsThatThereAre() throws IOException {
    for (String command : List.of("CLIENT", "CLUSTER", "CONFIG", "COMMAND", "OBJECT")) {
      String[] lines = client.ask(command + " HELP").split("\\^", -1);
      assertEquals("*" + (lines.length - 2), lines[0]);
      assertTrue(lines[1].startsWith("+" + command + " <subcommand>"), lines[1]);
      for (int i = 2; i < lines.length - 1; i += 2) {
        String word = lines[i].substring(1).split(" ", 2)[0];
        assertTrue(lines[i + 1].startsWith("+    "), lines[i + 1]);
        if (!word.startsWith("(")) {
          String reply = client.ask(command + " " + word);
          assertFalse(reply.startsWith("-ERR unknown subcommand"), reply);
        }
      }
      client.expect(
          command + " HELP x",
          "-ERR wrong number of arguments for '"
              + command.toLowerCase(Locale.ROOT)
              + "|help' command^");
    }
  }
}
