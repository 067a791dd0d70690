package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import java.util.Arrays;
import java.util.Locale;
import java.util.SplittableRandom;

/**
 * Batches that a process writes until it is killed. Their content follows from their number, so
 * another process can check the store:
 *
 * <pre>
 * crash/NNNNNNNNNN/I   entry I of batch N: pseudo-random bytes; the last entry is long
 * crash/newest         number of the last batch, set by every batch
 * </pre>
 */
final class CrashBatches {
  static final int ENTRIES = 8;

  private static final String PREFIX = "crash/";
  private static final byte[] NEWEST = (PREFIX + "newest").getBytes(UTF_8);
  private static final int SHORT_BYTES_MAX = 600;
  private static final int LONG_BYTES = 20_000;

  private CrashBatches() {}

  /** Number of batches in a store, and bytes of their values. */
  record Found(long batches, long bytes) {}

  static WriteBatch batch(long number) {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < ENTRIES; i++) {
      batch.put(key(number, i), value(number, i));
    }
    return batch.put(NEWEST, Long.toString(number).getBytes(UTF_8));
  }

  /**
   * Checks that the store holds exactly the batches 1 to some number, byte for byte, and at least
   * all up to {@code acknowledged}.
   */
  static Found check(KvStore store, long acknowledged) {
    long newest = newest(store);
    if (newest < acknowledged) {
      throw CommandFailure.failed(
          "batch " + acknowledged + " was acknowledged, but the last one found is " + newest);
    }
    long bytes = 0;
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(PREFIX.getBytes(UTF_8)))) {
      for (long number = 1; number <= newest; number++) {
        for (int i = 0; i < ENTRIES; i++) {
          byte[] value = value(number, i);
          if (!cursor.next()
              || !Arrays.equals(cursor.key(), key(number, i))
              || !Arrays.equals(cursor.value(), value)) {
            throw CommandFailure.failed("batch " + number + " of " + newest + " is not whole");
          }
          bytes += value.length;
        }
      }
      boolean endsWell = newest == 0 || (cursor.next() && Arrays.equals(cursor.key(), NEWEST));
      if (!endsWell || cursor.next()) {
        throw CommandFailure.failed("a part of a batch after batch " + newest + " was found");
      }
    }
    return new Found(newest, bytes);
  }

  private static long newest(KvStore store) {
    byte[] newest = store.get(NEWEST);
    return newest == null ? 0 : Long.parseLong(new String(newest, UTF_8));
  }

  private static byte[] key(long number, int index) {
    return String.format(Locale.ROOT, "%s%010d/%d", PREFIX, number, index).getBytes(UTF_8);
  }

  private static byte[] value(long number, int index) {
    SplittableRandom random = new SplittableRandom(number * ENTRIES + index);
    byte[] value =
        new byte[index == ENTRIES - 1 ? LONG_BYTES : random.nextInt(SHORT_BYTES_MAX + 1)];
    random.nextBytes(value);
    return value;
  }
}
