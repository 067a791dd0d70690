package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;

/**
 * Decides which versions a flush or compaction keeps, entry by entry in internal order. Not thread
 * safe.
 *
 * <p>The sequence numbers at which anything may be read (snapshots, and the visible one at the
 * start of the job) divide the history of a key into stripes. Rules:
 *
 * <ol>
 *   <li>Only the newest version in a stripe is kept: no reader sees the others.
 *   <li>A tombstone is dropped if no level below can hold its key and no reader is older.
 *   <li>An expired entry becomes a tombstone, which hides older versions below.
 *   <li>A range delete hides the older entries of its stripe, and is kept like a version of a key.
 * </ol>
 */
final class VersionFilter implements AutoCloseable {
  enum Verdict {
    KEEP,
    KEEP_AS_TOMBSTONE,
    DROP
  }

  private final long[] boundaries;
  private final boolean bottom;
  private final long nowMillis;
  private final RangeTombstones ranges;
  private final GrowingRegion lastKey;

  /** The first fragment of {@link #ranges} that ends after the last key. */
  private int range;

  private int lastKeyLength = -1;
  private long lastSequence;
  private boolean newKey;
  private long droppedDelete;

  /**
   * @param boundaries sequence numbers at which anything may be read, ascending, never empty
   * @param bottom whether no level below the output can hold any of the keys
   * @param ranges the range deletes of the inputs
   */
  VersionFilter(
      long[] boundaries,
      boolean bottom,
      long nowMillis,
      RangeTombstones ranges,
      MemoryLedger ledger) {
    this.boundaries = boundaries.clone();
    this.bottom = bottom;
    this.nowMillis = nowMillis;
    this.ranges = ranges;
    this.lastKey = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
  }

  Verdict judge(InternalIterator entry) {
    long sequence = Tag.sequence(entry.tag());
    newKey = !isLastKey(entry);
    if (newKey) {
      lastKeyLength = entry.keyLength();
      Region copy = lastKey.ensure(lastKeyLength);
      copy.put(0, entry.keyRegion(), entry.keyOffset(), lastKeyLength);
    } else if (stripe(sequence) == stripe(lastSequence)) {
      return Verdict.DROP;
    }
    lastSequence = sequence;
    if (isRangeDeleted(entry, sequence)) {
      return Verdict.DROP;
    }
    int kind = Tag.kind(entry.tag());
    boolean expired =
        Payload.expiresAtMillis(kind, entry.payloadRegion(), entry.payloadOffset()) <= nowMillis;
    if (kind != Tag.DELETE && !expired) {
      return Verdict.KEEP;
    }
    if (bottom && sequence <= boundaries[0]) {
      droppedDelete = Math.max(droppedDelete, sequence);
      return Verdict.DROP;
    }
    return expired ? Verdict.KEEP_AS_TOMBSTONE : Verdict.KEEP;
  }

  /** Whether the last entry judged was the first of its key. */
  boolean isNewKey() {
    return newKey;
  }

  /** The range deletes still needed: the newest of each stripe. */
  RangeTombstones survivingRanges() {
    RangeTombstones.Builder kept = new RangeTombstones.Builder();
    for (int i = 0; i < ranges.count(); i++) {
      long[] sequences = ranges.sequences(i);
      long[] needed = new long[sequences.length];
      int count = 0;
      for (int j = 0; j < sequences.length; j++) {
        boolean newest = j == 0 || stripe(sequences[j]) != stripe(sequences[j - 1]);
        if (bottom && sequences[j] <= boundaries[0]) {
          droppedDelete = Math.max(droppedDelete, sequences[j]);
        } else if (newest) {
          needed[count++] = sequences[j];
        }
      }
      kept.add(ranges.start(i), ranges.end(i), Arrays.copyOf(needed, count));
    }
    return kept.build();
  }

  /** The highest sequence of a delete that was dropped without a replacement. */
  long droppedDelete() {
    return droppedDelete;
  }

  @Override
  public void close() {
    lastKey.close();
  }

  private boolean isRangeDeleted(InternalIterator entry, long sequence) {
    Region key = entry.keyRegion();
    long offset = entry.keyOffset();
    int length = entry.keyLength();
    while (range < ranges.count() && key.compareTo(offset, length, ranges.end(range)) >= 0) {
      range++;
    }
    if (range == ranges.count() || key.compareTo(offset, length, ranges.start(range)) < 0) {
      return false;
    }
    // The oldest of the newer deletes decides: it is in the stripe if any of them is.
    long delete = ranges.oldestAbove(range, sequence);
    return delete != RangeTombstones.NOTHING && stripe(delete) == stripe(sequence);
  }

  private boolean isLastKey(InternalIterator entry) {
    return lastKeyLength == entry.keyLength()
        && Region.compare(
                lastKey.region(),
                0,
                lastKeyLength,
                entry.keyRegion(),
                entry.keyOffset(),
                entry.keyLength())
            == 0;
  }

  /** Index of the lowest boundary at or above {@code sequence}. */
  private int stripe(long sequence) {
    int low = 0;
    int high = boundaries.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (boundaries[middle] >= sequence) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  }
}
