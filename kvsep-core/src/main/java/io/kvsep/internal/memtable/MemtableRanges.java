package io.kvsep.internal.memtable;

import static java.util.Arrays.compareUnsigned;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Immutable set of deleted ranges. Deletes arrive in the order of sequence numbers and form runs: a
 * run is one delete, or two neighbouring runs of equal size. So n deletes form at most log2(n) + 1
 * runs, like the digits of a binary number.
 *
 * <p>The first reader that needs a run merges the fragments of its halves, keeping the newest
 * delete of each key. The run caches the result, and its halves drop theirs. A reader at a sequence
 * number within a run descends into the halves.
 *
 * <p>Thread safe. Two readers may merge the same run concurrently.
 *
 * <p>Cost: {@link #plus} is O(1) amortised; a lookup is one binary search per run. Merging is O(log
 * n) per delete in total, for any mix of deletes and lookups. At most two fragments per delete, on
 * the heap.
 */
public final class MemtableRanges {
  public static final MemtableRanges NONE = new MemtableRanges(null);

  /** Run, share of larger runs, and fragments of a delete. */
  private static final int OVERHEAD_BYTES = 200;

  private static final byte[] NO_KEY = {};

  /** Links to the next older run, and so on. */
  private final @Nullable Run newest;

  private MemtableRanges(@Nullable Run newest) {
    this.newest = newest;
  }

  private static final class Run {
    final @Nullable Run next;
    final int size;
    final long oldestSequence;
    final long newestSequence;

    // Of a run of one delete.
    final byte[] from;
    final byte[] to;

    // Of a run of two runs.
    final @Nullable Run newer;
    final @Nullable Run older;
    volatile @Nullable RangeTombstones fragments;

    Run(byte[] from, byte[] to, long sequence, @Nullable Run next) {
      this.next = next;
      this.size = 1;
      this.oldestSequence = sequence;
      this.newestSequence = sequence;
      this.from = from;
      this.to = to;
      this.newer = null;
      this.older = null;
    }

    Run(Run newer, Run older) {
      this.next = older.next;
      this.size = newer.size + older.size;
      this.oldestSequence = older.oldestSequence;
      this.newestSequence = newer.newestSequence;
      this.from = NO_KEY;
      this.to = NO_KEY;
      this.newer = newer;
      this.older = older;
    }

    boolean isSingle() {
      return newer == null;
    }

    Run newer() {
      return Objects.requireNonNull(newer);
    }

    Run older() {
      return Objects.requireNonNull(older);
    }

    /** Does not cache what it computes. */
    RangeTombstones cut() {
      RangeTombstones known = fragments;
      if (known != null) {
        return known;
      }
      return isSingle()
          ? RangeTombstones.of(from, to, newestSequence)
          : newer().cut().over(older().cut());
    }

    /** Caches what it computes. */
    RangeTombstones fragments() {
      RangeTombstones cut = cut();
      if (fragments == null && !isSingle()) {
        fragments = cut;
        newer().fragments = null;
        older().fragments = null;
      }
      return cut;
    }

    long covering(Region key, long offset, int length, long sequence) {
      if (oldestSequence > sequence) {
        return RangeTombstones.NOTHING;
      }
      if (isSingle()) {
        return key.compareTo(offset, length, from) >= 0 && key.compareTo(offset, length, to) < 0
            ? newestSequence
            : RangeTombstones.NOTHING;
      }
      if (newestSequence <= sequence) {
        return fragments().covering(key, offset, length, sequence);
      }
      long found = newer().covering(key, offset, length, sequence);
      return found != RangeTombstones.NOTHING
          ? found
          : older().covering(key, offset, length, sequence);
    }

    void forEach(long sequence, Consumer<RangeTombstones> action) {
      if (newestSequence <= sequence) {
        action.accept(fragments());
      } else if (oldestSequence <= sequence) {
        newer().forEach(sequence, action);
        older().forEach(sequence, action);
      }
    }

    /** Fragments of the deletes in ({@code above}, {@code upTo}]. */
    RangeTombstones cut(long above, long upTo) {
      if (newestSequence <= above || oldestSequence > upTo) {
        return RangeTombstones.NONE;
      }
      return oldestSequence > above && newestSequence <= upTo
          ? cut()
          : newer().cut(above, upTo).over(older().cut(above, upTo));
    }

    boolean anyAbove(long sequence, BiPredicate<byte[], byte[]> test) {
      if (newestSequence <= sequence) {
        return false;
      }
      return isSingle()
          ? test.test(from, to)
          : newer().anyAbove(sequence, test) || older().anyAbove(sequence, test);
    }
  }

  /**
   * A copy with one more delete.
   *
   * @param from first stored key; retained
   * @param to first stored key after the range; retained
   * @param sequence higher than all earlier ones
   */
  MemtableRanges plus(byte[] from, byte[] to, long sequence) {
    if (newest != null && sequence <= newest.newestSequence) {
      throw new IllegalArgumentException("a delete older than the one before");
    }
    if (compareUnsigned(from, to) >= 0) {
      return this;
    }
    Run run = new Run(from, to, sequence, newest);
    for (Run next = run.next; next != null && next.size == run.size; next = run.next) {
      run = new Run(run, next);
    }
    return new MemtableRanges(run);
  }

  /** Estimated heap. */
  static long bytes(byte[] from, byte[] to) {
    return OVERHEAD_BYTES + from.length + (long) to.length;
  }

  public boolean isEmpty() {
    return newest == null;
  }

  int runs() {
    int count = 0;
    for (Run run = newest; run != null; run = run.next) {
      count++;
    }
    return count;
  }

  /**
   * The newest delete at or below {@code sequence} that covers the key, or {@link
   * RangeTombstones#NOTHING}.
   */
  public long covering(Region key, long offset, int length, long sequence) {
    for (Run run = newest; run != null; run = run.next) {
      long found = run.covering(key, offset, length, sequence);
      if (found != RangeTombstones.NOTHING) {
        return found;
      }
    }
    return RangeTombstones.NOTHING;
  }

  /**
   * Passes all deletes at or below {@code sequence} in a few parts, newest first; a part holds only
   * its newest delete of each key.
   */
  public void forEachPart(long sequence, Consumer<RangeTombstones> action) {
    for (Run run = newest; run != null; run = run.next) {
      run.forEach(sequence, action);
    }
  }

  /** Whether the test holds for the ends of any delete above a sequence number. */
  public boolean anyAbove(long sequence, BiPredicate<byte[], byte[]> test) {
    for (Run run = newest; run != null && run.newestSequence > sequence; run = run.next) {
      if (run.anyAbove(sequence, test)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The deletes that readers at or above the boundaries can distinguish: for each key the newest
   * delete between two boundaries, upper one inclusive.
   *
   * @param boundaries sequence numbers, ascending
   */
  public RangeTombstones fragments(long... boundaries) {
    List<RangeTombstones> stripes = new ArrayList<>();
    long above = RangeTombstones.NOTHING;
    for (int i = 0; i <= boundaries.length; i++) {
      long upTo = i < boundaries.length ? boundaries[i] : Long.MAX_VALUE;
      RangeTombstones stripe = RangeTombstones.NONE;
      for (Run run = newest; run != null; run = run.next) {
        stripe = stripe.over(run.cut(above, upTo));
      }
      if (!stripe.isEmpty()) {
        stripes.add(stripe);
      }
      above = upTo;
    }
    if (stripes.size() == 1) {
      return stripes.get(0);
    }
    RangeTombstones.Builder all = new RangeTombstones.Builder();
    stripes.forEach(all::add);
    return all.build();
  }
}
