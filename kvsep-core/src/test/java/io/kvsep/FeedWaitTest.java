package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How long a feed waits for a change. */
final class FeedWaitTest {
  private final AtomicLong nanos = new AtomicLong();

  /** At each look at the clock a day has passed. */
  private long aDayLater() {
    return nanos.addAndGet(Duration.ofDays(1).toNanos());
  }

  @Test
  void aWeekIsAWeekAndNotForEver() {
    try (StorageEngine engine =
            StorageEngine.open(
                ConfigDraft.of(Engines.config(new CrashableStorage(), new ManualScheduler(1, 1)))
                    .ticker(this::aDayLater)
                    .build());
        ChangeFeed feed = new StoreChangeFeed(engine, 0)) {
      long before = nanos.get();
      assertNull(feed.poll(Duration.ofDays(7)));
      assertTrue(nanos.get() - before < Duration.ofDays(14).toNanos());
    }
  }
}
