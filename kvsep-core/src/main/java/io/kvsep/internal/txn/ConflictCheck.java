package io.kvsep.internal.txn;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.EntryTest;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.write.CommitCondition;
import io.kvsep.internal.write.WriteRequest;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Finds out whether anything that a transaction has read at its snapshot S was changed since: a
 * put, a delete or a delete of a range above S, whatever it set. Looks at everything once on the
 * caller's thread ({@link #advance}), and as the condition of the commit only at what came since:
 * the leader walks over the memtables' last entries in the order in which they came, and asks of
 * each whether it was read. Nobody else has to keep anything for that.
 *
 * <p>Where the mark of the last look is in a memtable that was written out meanwhile, or a bulk
 * load came into force, everything is looked at again: keys and ranges that were read, in each
 * memtable and table that has anything above S.
 *
 * <p><b>Why nothing is missed although flushes and compactions drop entries.</b> The transaction
 * holds S, so S is a boundary between stripes for every job that begins later; and a job that began
 * earlier knows only boundaries up to S. Of the changes of a key above S, a job
 *
 * <ul>
 *   <li>drops one only for a newer version in the same stripe, or for a newer delete of its range
 *       in the same stripe, which is above S too, and stays or gives way to one that is newer still
 *       (also where a whole table goes because it is covered);
 *   <li>drops a tombstone, or a deleted range, for good only if its number is at or below the
 *       lowest boundary, which S is not below;
 *   <li>turns what has expired into a tombstone of the same number.
 * </ul>
 *
 * So as long as S is held, a key that was changed above S has a version, or lies in a deleted
 * range, above S. There is one exception: a table that is the lowest, all of which is above S, goes
 * when its own deleted range hides all of its entries. Then its keys were absent at S and are
 * absent now, so whoever has read that still has read what is there. Reclaim moves values and
 * changes no number. That a value expires is no change: it was written together with its end.
 *
 * <p>Not thread safe: belongs to the transaction's thread, and to the leader during the commit.
 */
public final class ConflictCheck implements CommitCondition {
  /** With more entries than this to look at, the leader had better not do it. */
  private static final long BEHIND_MAX = 1_000;

  /** A key is looked up in so many places, where an entry since the mark costs one search. */
  private static final int LOOKUP_COST = 16;

  /** Tag of the newest version of the context's key in one place; 0 where it has none. */
  private interface NewestTag {
    long of(ReadContext context, long hash);
  }

  private final StoreReads reads;
  private final ReadRanges read;
  private final long sequence;
  private final EntryTest conflicting;
  private final boolean pointsOnly;

  /** Behind this nobody has looked yet; null when nobody has looked at all. */
  private @Nullable MemtableHighWater seen;

  /**
   * @param sequence what the transaction reads at, held until the check is done with
   * @param mark where what is above {@code sequence} begins, null when that is not known
   */
  public ConflictCheck(
      StoreReads reads, ReadRanges read, long sequence, @Nullable MemtableHighWater mark) {
    this.reads = reads;
    this.read = read;
    this.sequence = sequence;
    this.seen = mark;
    this.conflicting =
        (arena, offset, length, tag) ->
            Tag.sequence(tag) > sequence && read.contains(arena, offset, length);
    boolean onlyPoints = true;
    for (int i = 0; i < read.count(); i++) {
      onlyPoints &= read.isPoint(i);
    }
    this.pointsOnly = onlyPoints;
  }

  @Override
  public boolean holds(WriteRequest request) {
    return look(/* leading= */ true);
  }

  /** Looks at what is there by now; false when there is a conflict. */
  @Override
  public boolean advance() {
    return look(/* leading= */ false);
  }

  @Override
  public boolean isBehind() {
    Epochs<ReadContext> epochs = reads.epochs();
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadState view = reads.live().get();
      MemtableHighWater mark = seen;
      int index = mark == null ? -1 : mark.indexIn(view);
      return mark == null || index < 0 || mark.entriesSince(view, index) > BEHIND_MAX;
    } finally {
      epochs.exit(slot);
    }
  }

  private boolean look(boolean leading) {
    // Retained and not in the epochs: this may take as long as the scans of the transaction.
    ReadState view = reads.live().retain();
    try {
      MemtableHighWater mark = seen;
      int index = mark == null ? -1 : mark.indexIn(view);
      // Everything that is complete by now will be seen, published or not.
      MemtableHighWater next = MemtableHighWater.of(view);
      boolean unchanged;
      if (mark == null || index < 0 || (!leading && isDear(mark, view, index))) {
        unchanged = isUnchanged(view);
      } else {
        unchanged = isUnchangedSince(mark, view, index);
      }
      seen = next;
      return unchanged;
    } finally {
      view.release();
    }
  }

  /** Whether what came since is so much that looking up what was read costs less. */
  private boolean isDear(MemtableHighWater mark, ReadState view, int index) {
    return pointsOnly && mark.entriesSince(view, index) > (long) LOOKUP_COST * read.count();
  }

  private boolean isUnchangedSince(MemtableHighWater mark, ReadState view, int index) {
    for (int i = 0; i <= index; i++) {
      if (deletes(view.searched[i])) {
        return false;
      }
    }
    return !mark.anySince(view, index, conflicting);
  }

  private boolean isUnchanged(ReadState view) {
    for (Memtable memtable : view.searched) {
      if (memtable.newestSequence() > sequence && changes(memtable)) {
        return false;
      }
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : view.version.tables(level)) {
        if (table.meta().largestSequence() > sequence && changes(table)) {
          return false;
        }
      }
    }
    // A filter that said no may not have been read.
    Region.requirePagesRead();
    return true;
  }

  private boolean deletes(Memtable memtable) {
    return memtable.ranges().anyAbove(sequence, read::meets);
  }

  private boolean deletes(RangeTombstones ranges) {
    for (int i = 0; i < ranges.count(); i++) {
      if (ranges.sequences(i)[0] > sequence && read.meets(ranges.start(i), ranges.end(i))) {
        return true;
      }
    }
    return false;
  }

  private boolean changes(Memtable memtable) {
    return deletes(memtable)
        || changesPoint((context, hash) -> newestTag(memtable, context, hash), 0, read.count())
        || changesRange(memtable);
  }

  /**
   * Looks keys up, in memtables too: a walk would have these bring all of their keys in order.
   *
   * @param first of what was read; up to {@code end}
   */
  private boolean changesPoint(NewestTag newest, int first, int end) {
    Epochs<ReadContext> epochs = reads.epochs();
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadContext context = slot.context();
      for (int i = first; i < end; i++) {
        if (!read.isPoint(i)) {
          continue;
        }
        context.setStoredKey(read.start(i));
        long hash = KeyHash.of(context.key(), 0, context.keyLength);
        if (Tag.sequence(newest.of(context, hash)) > sequence) {
          return true;
        }
      }
      return false;
    } finally {
      epochs.exit(slot);
    }
  }

  private static long newestTag(Memtable memtable, ReadContext context, long hash) {
    int node = memtable.find(context.key(), 0, context.keyLength, hash, Tag.MAX);
    return node == 0 ? 0 : memtable.tag(node);
  }

  private static long newestTag(TableFile table, ReadContext context, long hash) {
    boolean found =
        table.reader().get(context.key(), 0, context.keyLength, hash, Tag.MAX, context.lookup);
    return found ? context.lookup.tag : 0;
  }

  private boolean changesRange(Memtable memtable) {
    if (pointsOnly) {
      return false;
    }
    Epochs<ReadContext> epochs = reads.epochs();
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      try (InternalIterator entries = memtable.iterator()) {
        return changesRange(entries, slot.context(), 0, read.count());
      }
    } finally {
      epochs.exit(slot);
    }
  }

  private boolean changes(TableFile table) {
    TableMeta meta = table.meta();
    int first = read.firstBehind(meta.smallestKey());
    int end = first;
    while (end < read.count() && Arrays.compareUnsigned(read.start(end), meta.largestKey()) <= 0) {
      end++;
    }
    return first < end
        && ((meta.rangeCount() > 0 && deletes(table.rangeTombstones()))
            || changesPoint((context, hash) -> newestTag(table, context, hash), first, end)
            || changesRange(table, first, end));
  }

  private boolean changesRange(TableFile table, int first, int end) {
    if (pointsOnly) {
      return false;
    }
    ReadContext context = new ReadContext(reads.ledger());
    try (InternalIterator entries = table.iterator(reads.ledger())) {
      return changesRange(entries, context, first, end);
    } finally {
      context.free();
    }
  }

  private boolean changesRange(InternalIterator entries, ReadContext context, int first, int end) {
    for (int i = first; i < end; i++) {
      if (!read.isPoint(i) && changes(entries, context, i)) {
        return true;
      }
    }
    return false;
  }

  /** Whether one of the entries that were read is above the snapshot. */
  private boolean changes(InternalIterator entries, ReadContext context, int index) {
    context.setStoredKey(read.start(index));
    entries.seek(context.key(), 0, context.keyLength, Tag.MAX);
    byte[] to = read.end(index);
    while (entries.isValid()
        && entries.keyRegion().compareTo(entries.keyOffset(), entries.keyLength(), to) < 0) {
      if (Tag.sequence(entries.tag()) > sequence) {
        return true;
      }
      entries.next();
    }
    return false;
  }
}
