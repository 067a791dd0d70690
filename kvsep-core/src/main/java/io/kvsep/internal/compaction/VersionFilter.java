package io.kvsep.internal.compaction;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;

/**
 * Decides which versions a flush or compaction keeps. Fed entries in internal order; not thread
 * safe.
 *
 * <p>The sequence numbers somebody may read at (open snapshots, and what was visible when the job
 * began) cut the history of a key into stripes. Rules:
 *
 * <ol>
 *   <li>Of the versions in one stripe only the newest is kept: nobody can see the others.
 *   <li>A tombstone is dropped when no level below can hold its key and no reader is older than it,
 *       so that there is nothing left for it to hide.
 *   <li>An expired entry is a tombstone: it must go on hiding older versions below.
 * </ol>
 */
final class VersionFilter implements AutoCloseable {
  /** What becomes of an entry. */
  enum Verdict {
    KEEP,
    KEEP_AS_TOMBSTONE,
    DROP
  }

  private final long[] boundaries;
  private final boolean bottom;
  private final long nowMillis;
  private final GrowingRegion lastKey;
  private int lastKeyLength = -1;
  private long lastSequence;
  private boolean newKey;

  /**
   * @param boundaries sequence numbers somebody may read at, ascending, never empty
   * @param bottom whether no level below the output can hold any of the keys
   */
  VersionFilter(long[] boundaries, boolean bottom, long nowMillis, MemoryLedger ledger) {
    this.boundaries = boundaries.clone();
    this.bottom = bottom;
    this.nowMillis = nowMillis;
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
    int kind = Tag.kind(entry.tag());
    boolean expired =
        Payload.expiresAtMillis(kind, entry.payloadRegion(), entry.payloadOffset()) <= nowMillis;
    if (kind != Tag.DELETE && !expired) {
      return Verdict.KEEP;
    }
    if (bottom && sequence <= boundaries[0]) {
      return Verdict.DROP;
    }
    return expired ? Verdict.KEEP_AS_TOMBSTONE : Verdict.KEEP;
  }

  /** Whether the entry judged last was the first of its key. */
  boolean isNewKey() {
    return newKey;
  }

  @Override
  public void close() {
    lastKey.close();
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
