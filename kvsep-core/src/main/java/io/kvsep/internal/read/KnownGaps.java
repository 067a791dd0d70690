package io.kvsep.internal.read;

import io.kvsep.internal.view.MemtableHighWater;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Gaps that walks have met: stretches of keys all of which are dead. A queue leaves such a gap in
 * front of its first entry; without this, each look for the first entry would step over the
 * tombstones of all entries that were taken before.
 *
 * <p>A gap is a fact about one moment, see {@link Gap}, and no state of memtables or tables. So
 * flushes and compactions do not change it, and writers do nothing for it: a reader that uses it
 * asks the memtables what came since.
 *
 * <p>Thread safe. Takes about 1 MiB of the heap at most: gaps between long keys are not kept, and
 * where there are too many the smaller ones are forgotten, which costs one walk over each that is
 * met again.
 */
final class KnownGaps {
  /** Longer keys do not bound a gap. */
  static final int KEY_BYTES_MAX = 512;

  private static final int COUNT_MAX = 1024;

  /**
   * A stretch of stored keys in which a reader at a sequence number sees nothing. A later reader
   * sees nothing either if nothing was put there since.
   *
   * @param from the first key
   * @param to the first key behind it
   * @param keys about how many dead keys were met in it
   * @param sequence what it was read at
   * @param expiredAt from when on all is expired that is not deleted
   * @param mark all entries above {@code sequence} stand behind it
   */
  record Gap(
      byte[] from, byte[] to, long keys, long sequence, long expiredAt, MemtableHighWater mark) {}

  private final ConcurrentSkipListMap<byte[], Gap> byStart =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

  private final LongAdder deadKeys = new LongAdder();

  /** The gap that begins at or before a key and ends behind it; null for none. */
  @Nullable Gap around(byte[] key) {
    Map.Entry<byte[], Gap> before = byStart.floorEntry(key);
    return before != null && Arrays.compareUnsigned(key, before.getValue().to()) < 0
        ? before.getValue()
        : null;
  }

  /** Keeps a gap, in place of those that begin in it. */
  void add(Gap gap) {
    if (Arrays.compareUnsigned(gap.from(), gap.to()) >= 0
        || gap.from().length > KEY_BYTES_MAX
        || gap.to().length > KEY_BYTES_MAX) {
      return;
    }
    if (byStart.size() >= COUNT_MAX) {
      long mean = byStart.values().stream().mapToLong(Gap::keys).sum() / COUNT_MAX;
      // Less than half of them stay.
      byStart.values().removeIf(known -> known.keys() <= 2 * mean);
    }
    byStart.subMap(gap.from(), gap.to()).clear();
    byStart.put(gap.from(), gap);
  }

  /** Forgets a gap, unless another one has come in its place. */
  void remove(Gap gap) {
    byStart.remove(gap.from(), gap);
  }

  /** Counts dead keys that a move has stepped over. */
  void stepped(long keys) {
    deadKeys.add(keys);
  }

  /** How many dead keys walks have stepped over, one by one, so far. */
  long deadKeys() {
    return deadKeys.sum();
  }

  int count() {
    return byStart.size();
  }
}
