package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Clock;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Clients that send broken commands, noise and half streams, while another one gets right answers
 * all the time; afterwards nothing that they had reserved is missing.
 */
final class FuzzTest {
  private static final List<String> NAMES =
      new CommandTable()
          .all().stream()
              .map(Command::name)
              .filter(name -> !name.startsWith("flush") && !name.equals("quit"))
              .toList();

  private static final String[] WORDS = {
    "k",
    "",
    "0",
    "1",
    "-1",
    "9223372036854775807",
    "x".repeat(300),
    "\0\r\n",
    "*",
    "EX",
    "PX",
    "NX",
    "XX",
    "GET",
    "COUNT",
    "MATCH",
    "DB",
    "3",
    "REPLACE",
    "nan",
    "1e9",
    "AUTH",
    "SETNAME",
  };

  @TempDir Path directory;

  @Test
  void brokenInputHurtsNoOtherClient() throws IOException {
    try (RunningRedis redis = RunningRedis.in(directory, Clock.systemUTC(), options -> options);
        RawClient good = redis.connect()) {
      good.expect("SELECT 9", "+OK^");
      int[] count = {0};
      Seeds.each(
          FuzzTest.class,
          150,
          random -> {
            try (RawClient bad = redis.connect()) {
              annoy(bad, random);
              count[0]++;
              good.expect("INCR good", ":" + count[0] + "^");
            }
          });
      good.expect("PING", "+PONG^");
      long all = RedisLimits.defaults().requestBytes();
      long deadline = System.nanoTime() + 60_000_000_000L;
      ServerState state = redis.server.state();
      // A client may be through with its connection before the server has accepted it.
      while ((state.connectionsReceived() <= count[0]
              || state.connections() > 1
              || state.budget().left() < all
              || state.underWay().get() > 0)
          && System.nanoTime() - deadline < 0) {
        Thread.onSpinWait();
      }
      assertEquals(1, state.connections());
      assertEquals(all, state.budget().left());
      assertEquals(0, state.underWay().get());
      assertEquals("$5^still^", good.ask("ECHO still"));
    }
  }

  private static void annoy(RawClient bad, Random random) {
    try {
      for (int i = random.nextInt(6); i >= 0; i--) {
        byte[] sent =
            switch (random.nextInt(4)) {
              case 0 -> noise(random);
              case 1 -> command(random);
              case 2 -> mutated(command(random), random);
              default -> cut(command(random), random);
            };
        bad.send(sent);
      }
      if (random.nextBoolean()) {
        bad.socket.shutdownOutput();
      } else if (random.nextBoolean()) {
        bad.socket.setSoLinger(true, 0);
      }
    } catch (IOException e) {
      // The server has closed the connection, as it may.
      return;
    }
  }

  private static byte[] noise(Random random) {
    byte[] bytes = new byte[random.nextInt(2000)];
    random.nextBytes(bytes);
    return bytes;
  }

  private static byte[] command(Random random) {
    StringBuilder text = new StringBuilder();
    for (int i = random.nextInt(20); i >= 0; i--) {
      String[] words = new String[1 + random.nextInt(6)];
      words[0] = NAMES.get(random.nextInt(NAMES.size()));
      for (int j = 1; j < words.length; j++) {
        words[j] = WORDS[random.nextInt(WORDS.length)];
      }
      // All its database but the ninth.
      if (!words[0].equals("select")) {
        text.append(RawClient.array(words).replace("^", "\r\n"));
      }
    }
    return text.toString().getBytes(ISO_8859_1);
  }

  private static byte[] mutated(byte[] bytes, Random random) {
    for (int i = random.nextInt(5); i >= 0 && bytes.length > 0; i--) {
      bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
    }
    return bytes;
  }

  private static byte[] cut(byte[] bytes, Random random) {
    return Arrays.copyOf(bytes, random.nextInt(bytes.length + 1));
  }
}
