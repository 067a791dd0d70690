package io.kvsep.internal.engine;

import io.kvsep.StoreStats;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.ReadState;
import java.util.ArrayList;
import java.util.List;

/** Estimated totals of the index, from counters of memtables and tables. */
final class IndexTotals {
  private long entries;
  private long keyBytes;
  private final List<StoreStats.Level> levels = new ArrayList<>();

  private IndexTotals() {}

  /** The caller keeps {@code readState} alive. */
  static IndexTotals of(ReadState readState) {
    IndexTotals totals = new IndexTotals();
    for (Memtable memtable : readState.searched) {
      totals.add(memtable.entryCount(), memtable.tombstoneCount(), memtable.keyBytes());
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : readState.version.tables(level)) {
        totals.add(
            table.meta().entryCount(), table.meta().tombstoneCount(), table.meta().keyBytes());
      }
      totals.levels.add(
          new StoreStats.Level(
              readState.version.tables(level).length, readState.version.levelBytes(level)));
    }
    return totals;
  }

  /** A tombstone cancels itself and one entry. */
  private void add(long entryCount, long tombstoneCount, long bytesOfKeys) {
    entries += entryCount - 2 * tombstoneCount;
    // Excludes the keyspace prefix, which is one byte for nearly all keys.
    keyBytes += bytesOfKeys - entryCount;
  }

  long entries() {
    return Math.max(0, entries);
  }

  long keyBytes() {
    return Math.max(0, keyBytes);
  }

  List<StoreStats.Level> levels() {
    return levels;
  }
}
