package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import io.netty.util.concurrent.FastThreadLocalThread;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What happens between two looks of one command at the store. */
final class BetweenReadsTest {
  private static final RedisLimits LIMITS =
      new RedisLimits(
          5, 20, 1 << 20, 2 << 20, 8 << 20, 8, Duration.ofSeconds(60), Duration.ofSeconds(10));

  @TempDir Path directory;
  private final LookedAtClock clock = new LookedAtClock();

  /** The store asks for the time at each entry that expires; then something can happen. */
  private static final class LookedAtClock extends ManualClock {
    private int looksLeft;
    private @Nullable Runnable event;

    LookedAtClock() {
      super(1_000_000_000_000L);
    }

    /** Has something happen at the so-manieth look of those who carry out commands. */
    synchronized void at(int look, Runnable happening) {
      looksLeft = look;
      event = happening;
    }

    private synchronized @Nullable Runnable look() {
      return looksLeft > 0 && --looksLeft == 0 ? event : null;
    }

    synchronized boolean hasHappened() {
      return looksLeft == 0;
    }

    @Override
    public long millis() {
      // What the store does in the background asks, too.
      Thread thread = Thread.currentThread();
      boolean isServing =
          thread instanceof FastThreadLocalThread || thread.getName().startsWith("kvsep-redis-");
      Runnable happening = isServing ? look() : null;
      if (happening != null) {
        CompletableFuture.runAsync(happening, task -> new Thread(task).start()).join();
      }
      return super.millis();
    }
  }

  private RunningRedis open() throws IOException {
    return RunningRedis.in(directory, clock, options -> options.withLimits(LIMITS));
  }

  @Test
  void valuesThatGrowWhileTheyAreReadTogetherDoNotGetPastTheLimit() throws IOException {
    try (RunningRedis redis = open();
        RawClient client = redis.connect()) {
      client.expect("SET a short", "+OK^");
      client.expect("SET hook h EX 1000", "+OK^");
      clock.at(1, () -> redis.store.put("a".getBytes(US_ASCII), new byte[300_000]));

      client.expect("MGET" + " a".repeat(8) + " hook", "*9^" + "$5^short^".repeat(8) + "$1^h^");

      assertTrue(clock.hasHappened());
      client.expect("STRLEN a", ":300000^");
    }
  }

  @Test
  void theOnlyKeyMayExpireWhileARandomOneIsLookedFor() throws IOException {
    try (RunningRedis redis = open();
        RawClient client = redis.connect()) {
      // In a database of its own each time: older versions of the key would be looked at, too.
      for (int look = 1; look < 8; look++) {
        client.expect("SELECT " + look, "+OK^");
        client.expect("SET k v PX 1000", "+OK^");
        clock.at(look, () -> clock.advance(2000));
        String reply = client.ask("RANDOMKEY");
        assertTrue(List.of("$-1^", "$1^k^").contains(reply), reply);
      }
      assertFalse(clock.hasHappened());
    }
  }
}
