package io.kvsep.internal.read;

import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The range tombstones visible to one cursor. Caches the last answer with its key interval: an
 * entry costs two comparisons, the end of an interval one search per source.
 *
 * <p>Sources are numbered like the children of the merging iterator, newest first. Tables of the
 * sorted levels are opened when reached, and their memory is not used later. Not thread safe.
 */
final class RangeCoverage {
  private record Source(int child, RangeTombstones ranges, TableFile[] tables) {}

  private static final TableFile[] NO_TABLES = {};

  private final List<Source> sources = new ArrayList<>();
  private final long sequence;

  private boolean known;
  private long newest;
  private int child;

  /** The cached interval; null for an open end. */
  private byte @Nullable [] from;

  private byte @Nullable [] to;

  private RangeCoverage(long sequence) {
    this.sequence = sequence;
  }

  /**
   * The coverage for a reader at {@code sequence}, null if nothing is deleted.
   *
   * @param levelZero the level 0 tables of the merging iterator
   */
  static @Nullable RangeCoverage of(ReadState readState, List<TableFile> levelZero, long sequence) {
    RangeCoverage coverage = new RangeCoverage(sequence);
    int child = 0;
    for (Memtable memtable : readState.searched) {
      int source = child++;
      memtable.ranges().forEachPart(sequence, ranges -> coverage.add(source, ranges));
    }
    for (TableFile table : levelZero) {
      coverage.add(child++, table.rangeTombstones());
    }
    for (int level = 1; level < Version.LEVELS; level++) {
      if (readState.version.tables(level).length > 0) {
        coverage.add(child++, readState.version.rangeTables(level));
      }
    }
    return coverage.sources.isEmpty() ? null : coverage;
  }

  private void add(int source, RangeTombstones ranges) {
    if (!ranges.isEmpty()) {
      sources.add(new Source(source, ranges, NO_TABLES));
    }
  }

  private void add(int source, TableFile[] tables) {
    if (tables.length > 0) {
      sources.add(new Source(source, RangeTombstones.NONE, tables));
    }
  }

  boolean hides(Region key, long offset, int length, long entrySequence) {
    if (!known || !isWithin(key, offset, length)) {
      ask(key, offset, length);
    }
    return newest > entrySequence;
  }

  /** Newest range tombstone over the key last passed to {@link #hides}. */
  long newest() {
    return newest;
  }

  /** Its source. */
  int child() {
    return child;
  }

  byte[] start() {
    return required(from);
  }

  byte[] end() {
    return required(to);
  }

  private static byte[] required(byte @Nullable [] bound) {
    if (bound == null) {
      throw new IllegalStateException("nothing is deleted here");
    }
    return bound;
  }

  private boolean isWithin(Region key, long offset, int length) {
    byte[] lower = from;
    byte[] upper = to;
    return (upper == null || key.compareTo(offset, length, upper) < 0)
        && (lower == null || key.compareTo(offset, length, lower) >= 0);
  }

  private void ask(Region key, long offset, int length) {
    known = false;
    newest = RangeTombstones.NOTHING;
    from = null;
    to = null;
    for (Source source : sources) {
      if (source.tables().length == 0) {
        ask(source.child(), source.ranges(), key, offset, length);
      } else {
        ask(source.child(), source.tables(), key, offset, length);
      }
    }
    known = true;
  }

  private void ask(int source, TableFile[] tables, Region key, long offset, int length) {
    int low = 0;
    int high = tables.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (key.compareTo(offset, length, tables[middle].meta().largestKey()) > 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low > 0) {
      byte[] before = tables[low - 1].meta().largestKey();
      narrow(Arrays.copyOf(before, before.length + 1), null);
    }
    if (low == tables.length) {
      return;
    }
    if (key.compareTo(offset, length, tables[low].meta().smallestKey()) < 0) {
      narrow(null, tables[low].meta().smallestKey());
      return;
    }
    if (low + 1 < tables.length) {
      narrow(null, tables[low + 1].meta().smallestKey());
    }
    ask(source, tables[low].rangeTombstones(), key, offset, length);
  }

  private void ask(int source, RangeTombstones ranges, Region key, long offset, int length) {
    int floor = ranges.floor(key, offset, length);
    if (floor >= 0 && key.compareTo(offset, length, ranges.end(floor)) < 0) {
      narrow(ranges.start(floor), ranges.end(floor));
      long found = ranges.newest(floor, sequence);
      if (found > newest) {
        newest = found;
        child = source;
      }
      return;
    }
    narrow(
        floor >= 0 ? ranges.end(floor) : null,
        floor + 1 < ranges.count() ? ranges.start(floor + 1) : null);
  }

  private void narrow(byte @Nullable [] lower, byte @Nullable [] upper) {
    byte[] first = from;
    if (lower != null && (first == null || Arrays.compareUnsigned(lower, first) > 0)) {
      from = lower;
    }
    byte[] last = to;
    if (upper != null && (last == null || Arrays.compareUnsigned(upper, last) < 0)) {
      to = upper;
    }
  }
}
