package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * Keys of a store, each key with the same chance to be among them.
 *
 * @param keys in no order; all keys if there are no more than were asked for
 * @param entryCount entries of the store
 */
record KeySample(List<byte[]> keys, long entryCount) {
  private static final long SEED = 7;

  /** Walks all keys once; keeps {@code countMax} of them on the heap. */
  static KeySample of(KvReader source, int countMax, Progress progress) {
    SplittableRandom random = new SplittableRandom(SEED);
    List<byte[]> keys = new ArrayList<>();
    long seen = 0;
    try (KvCursor cursor = source.cursor(ScanOptions.all().keysOnly())) {
      while (cursor.next()) {
        seen++;
        if ((seen & 1023) == 0) {
          progress.update(seen);
        }
        // The n-th key takes the place of another with the chance that it belongs to the sample.
        if (keys.size() < countMax) {
          keys.add(cursor.key());
        } else {
          long place = random.nextLong(seen);
          if (place < countMax) {
            keys.set((int) place, cursor.key());
          }
        }
      }
    }
    return new KeySample(keys, seen);
  }
}
