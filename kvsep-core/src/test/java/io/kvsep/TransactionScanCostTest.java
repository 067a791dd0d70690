package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.ManualClock;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A scan over what a transaction has hidden looks at each of its writes about once. */
final class TransactionScanCostTest {
  private static final int KEYS = 2_000;

  /** Counts how often it is asked the time, as for each own write that is there until a moment. */
  private static final class CountingClock extends ManualClock {
    private long looks;

    CountingClock() {
      super(1_000_000);
    }

    @Override
    public long millis() {
      looks++;
      return super.millis();
    }
  }

  private static byte[] key(int number) {
    return ("key " + (10_000 + number)).getBytes(UTF_8);
  }

  @Test
  void passedWritesBetweenTheStoresEntriesAreNotLookedAtForEach(@TempDir Path directory) {
    CountingClock clock = new CountingClock();
    KvOptions options = KvOptions.builder().clock(clock).build();
    try (KvStore store = KvStore.open(directory, options)) {
      for (int i = 0; i < KEYS; i += 2) {
        store.put(key(i), key(i));
      }
      try (Transaction transaction = store.begin()) {
        for (int i = 1; i < KEYS; i += 2) {
          transaction.putUntil(key(i), key(i), 1);
        }
        for (ScanOptions way : List.of(ScanOptions.all(), ScanOptions.all().reverse())) {
          long before = clock.looks;
          assertEquals(KEYS / 2, count(transaction, way));
          long looks = clock.looks - before;
          assertTrue(looks <= 4L * KEYS, looks + " looks");
        }
      }
    }
  }

  private static int count(Transaction transaction, ScanOptions options) {
    int count = 0;
    KvCursor cursor = transaction.cursor(options);
    while (cursor.next()) {
      count++;
    }
    cursor.close();
    return count;
  }
}
