package io.kvsep.internal.txn;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.EntryPredicate;
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
 * Checks whether a put, delete or range delete above a transaction's snapshot S changed anything
 * that it read, whatever the value. {@link #advance} checks everything once on the caller's thread.
 * As the commit's condition it checks only newer entries: the leader iterates over the memtables'
 * last entries in insertion order and looks each up in what was read.
 *
 * <p>If the memtable of the last mark was flushed or a bulk load was installed, everything is
 * checked again: keys and ranges in each memtable and table with entries above S.
 *
 * <p><b>Why flushes and compactions hide no change.</b> The transaction holds S, so S is a boundary
 * between stripes for every later job; an earlier job knows only boundaries up to S. Of the changes
 * of a key above S, a job
 *
 * <ul>
 *   <li>drops one, alone or with a covered table, only for a newer version or range tombstone in
 *       the same stripe, which is above S too and is kept or superseded by a newer one;
 *   <li>drops a tombstone or range tombstone without a newer one only at or below the lowest
 *       boundary, which is at most S;
 *   <li>turns an expired entry into a tombstone of the same number.
 * </ul>
 *
 * <p>So a key changed above S has a version or range tombstone above S. The exception is a table
 * with nothing below it and all entries above S: it is dropped when its own range tombstone covers
 * all its entries. Its keys were absent at S and are absent now, so reads of them remain valid.
 * Reclaim changes no number. Expiry is no change, since it was written with the value.
 *
 * <p>Not thread safe: owned by the transaction's thread, and by the leader during the commit.
 */
public final class ConflictCheck implements CommitCondition {
  /** With more unchecked entries than this, the caller checks before the leader. */
  private static final long BEHIND_MAX = 1_000;

  /** Cost of a key lookup, in checked entries. */
  private static final int LOOKUP_COST = 16;

  /** Tag of the newest version of the context's key; 0 if none. */
  private interface NewestTag {
    long of(ReadContext context, long hash);
  }

  private final StoreReads reads;
  private final ReadRanges read;
  private final long sequence;
  private final EntryPredicate conflicting;
  private final boolean pointsOnly;

  /** Entries up to this mark are checked; none if null. */
  private @Nullable MemtableHighWater seen;

  /**
   * @param sequence the transaction's snapshot, held until the check is no longer used
   * @param mark where entries above {@code sequence} begin; null if unknown
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

  /** Checks everything so far; false on a conflict. */
  @Override
  public boolean advance() {
    return look(/* leading= */ false);
  }

  @Override
  public boolean isBehind() {
    return reads
        .epochs()
        .inside(
            context -> {
              ReadState readState = reads.currentState().get();
              MemtableHighWater mark = seen;
              int index = mark == null ? -1 : mark.indexIn(readState);
              return mark == null || index < 0 || mark.entriesSince(readState, index) > BEHIND_MAX;
            });
  }

  private boolean look(boolean leading) {
    // Retained instead of in the epochs: this may take as long as the transaction's scans.
    ReadState readState = reads.currentState().retain();
    try {
      MemtableHighWater mark = seen;
      int index = mark == null ? -1 : mark.indexIn(readState);
      // Before the check, which sees every entry complete by now, published or not.
      MemtableHighWater next = MemtableHighWater.of(readState);
      boolean unchanged;
      if (mark == null || index < 0 || (!leading && isDear(mark, readState, index))) {
        unchanged = isUnchanged(readState);
      } else {
        unchanged = isUnchangedSince(mark, readState, index);
      }
      seen = next;
      return unchanged;
    } finally {
      readState.release();
    }
  }

  /** Whether looking up the keys read costs less than checking the new entries. */
  private boolean isDear(MemtableHighWater mark, ReadState readState, int index) {
    return pointsOnly && mark.entriesSince(readState, index) > (long) LOOKUP_COST * read.count();
  }

  private boolean isUnchangedSince(MemtableHighWater mark, ReadState readState, int index) {
    for (int i = 0; i <= index; i++) {
      if (deletes(readState.searched[i])) {
        return false;
      }
    }
    return !mark.anySince(readState, index, conflicting);
  }

  private boolean isUnchanged(ReadState readState) {
    for (Memtable memtable : readState.searched) {
      if (memtable.newestSequence() > sequence && changes(memtable)) {
        return false;
      }
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : readState.version.tables(level)) {
        if (table.meta().largestSequence() > sequence && changes(table)) {
          return false;
        }
      }
    }
    // A filter's negative answer may come from an unreadable page.
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
   * Looks up the keys from {@code first} to before {@code end}, because an iterator would sort a
   * memtable.
   */
  private boolean changesPoint(NewestTag newest, int first, int end) {
    return reads
        .epochs()
        .inside(
            context -> {
              for (int i = first; i < end; i++) {
                if (read.isPoint(i)) {
                  context.setStoredKey(read.start(i));
                  long hash = KeyHash.of(context.key(), 0, context.keyLength);
                  if (Tag.sequence(newest.of(context, hash)) > sequence) {
                    return true;
                  }
                }
              }
              return false;
            });
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
    return reads
        .epochs()
        .inside(
            context -> {
              try (InternalIterator entries = memtable.iterator()) {
                return changesRange(entries, context, 0, read.count());
              }
            });
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

  /** Whether a range read has an entry above the snapshot. */
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
