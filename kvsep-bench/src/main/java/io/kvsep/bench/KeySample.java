package io.kvsep.bench;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;

/**
 * A uniform random sample of the keys of a store.
 *
 * @param keys in no order; all keys if the store has no more than requested
 * @param entryCount entries of the store
 */
record KeySample(List<byte[]> keys, long entryCount) {
  private static final long SEED = 7;

  /** Scans all keys once; keeps {@code countMax} of them on the heap. */
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
        // Reservoir sampling: the n-th key replaces another with probability countMax / n.
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
