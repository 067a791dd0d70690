package io.kvsep.internal.read;

import io.kvsep.internal.view.MemtableHighWater;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/**
 * Gaps: key ranges that hold only dead keys. A queue leaves one before its first entry; otherwise
 * each search for that entry would step over the tombstones of all removed ones.
 *
 * <p>A {@link Gap} is a fact about one sequence number. Flushes, compactions and writers do not
 * change it: a reader checks the memtables for newer entries.
 *
 * <p>Thread safe. Takes at most about 1 MiB of heap: gaps between long keys are not recorded, and
 * the smaller of too many are dropped, at the cost of one more pass over each.
 */
final class KnownGaps {
  /** Longer keys do not bound a gap. */
  static final int KEY_BYTES_MAX = 512;

  private static final int COUNT_MAX = 1024;

  /**
   * A range of stored keys in which a reader at {@code sequence} sees nothing, nor do later readers
   * unless something was put there since.
   *
   * @param from the first key
   * @param to the first key after it
   * @param keys approximate number of dead keys
   * @param sequence the sequence number read at
   * @param expiredAt when all its undeleted entries are expired
   * @param mark all entries above {@code sequence} are after it
   */
  record Gap(
      byte[] from, byte[] to, long keys, long sequence, long expiredAt, MemtableHighWater mark) {}

  private final ConcurrentSkipListMap<byte[], Gap> byStart =
      new ConcurrentSkipListMap<>(Arrays::compareUnsigned);

  private final LongAdder deadKeys = new LongAdder();

  /** The gap that contains the key, null for none. */
  @Nullable Gap around(byte[] key) {
    Map.Entry<byte[], Gap> before = byStart.floorEntry(key);
    return before != null && Arrays.compareUnsigned(key, before.getValue().to()) < 0
        ? before.getValue()
        : null;
  }

  /** Adds a gap; replaces those that begin in it. */
  void add(Gap gap) {
    if (Arrays.compareUnsigned(gap.from(), gap.to()) >= 0
        || gap.from().length > KEY_BYTES_MAX
        || gap.to().length > KEY_BYTES_MAX) {
      return;
    }
    if (byStart.size() >= COUNT_MAX) {
      long mean = byStart.values().stream().mapToLong(Gap::keys).sum() / COUNT_MAX;
      // Keeps less than half of them.
      byStart.values().removeIf(known -> known.keys() <= 2 * mean);
    }
    byStart.subMap(gap.from(), gap.to()).clear();
    byStart.put(gap.from(), gap);
  }

  void remove(Gap gap) {
    byStart.remove(gap.from(), gap);
  }

  void stepped(long keys) {
    deadKeys.add(keys);
  }

  /** Dead keys stepped over one by one so far. */
  long deadKeys() {
    return deadKeys.sum();
  }

  int count() {
    return byStart.size();
  }
}
