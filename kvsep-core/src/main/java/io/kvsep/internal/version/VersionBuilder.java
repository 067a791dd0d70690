package io.kvsep.internal.version;

import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.VersionEdit.AddedTable;
import io.kvsep.internal.version.VersionEdit.RemovedTable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Builds the next version from the newest one and an edit, or rejects the edit. Owns the newest
 * version's tables by number. Costs the size of the edit plus a copy of the table pointers of each
 * changed level. Not thread safe.
 */
final class VersionBuilder {
  private final Storage storage;
  private final StoreId storeId;
  private final LiveFiles liveFiles;
  private final TableCache cache;
  private final Map<Long, Placed> tables = new HashMap<>();
  private Version newest;

  private record Placed(int level, TableFile file) {
    long number() {
      return file.meta().number();
    }
  }

  static final class Successor {
    final Version version;
    private final Collection<Placed> leaving;
    private final Collection<Placed> coming;

    private Successor(Version version, Collection<Placed> leaving, Collection<Placed> coming) {
      this.version = version;
      this.leaving = leaving;
      this.coming = coming;
    }

    /** Numbers of the tables that were in no level before. */
    Set<Long> newTables() {
      Set<Long> numbers = numbers(coming);
      numbers.removeAll(numbers(leaving));
      return numbers;
    }
  }

  VersionBuilder(Storage storage, StoreId storeId, LiveFiles liveFiles, TableCache cache) {
    this.cache = cache;
    this.storage = storage;
    this.storeId = storeId;
    this.liveFiles = liveFiles;
    Level[] levels = new Level[Version.LEVELS];
    for (int i = 0; i < levels.length; i++) {
      levels[i] = Level.empty(/* byKey= */ i > 0);
    }
    newest =
        new Version(
            liveFiles,
            levels,
            SegmentLiveness.empty(),
            KeyspaceIds.NONE,
            BackupLineage.NONE,
            LogPosition.START,
            0);
  }

  /** Empty before the first edit. */
  Version newest() {
    return newest;
  }

  /**
   * No side effects.
   *
   * @throws IllegalStateException if the edit does not fit
   */
  Successor build(VersionEdit edit) {
    LogPosition replayFrom = edit.replayFrom();
    if (replayFrom == null) {
      replayFrom = newest.replayFrom();
    }
    long lastSequence = edit.lastSequence().orElse(newest.lastSequence());
    long nextFileNumber = edit.nextFileNumber().orElse(1);
    if (replayFrom.compareTo(newest.replayFrom()) < 0
        || replayFrom.offset() < 0
        || lastSequence < newest.lastSequence()
        || lastSequence > Limits.SEQUENCE_MAX
        || nextFileNumber < 1
        || nextFileNumber >= FileNumbers.LIMIT
        || edit.nextSegmentId().orElse(1) >= FileNumbers.LIMIT) {
      throw new IllegalStateException("a number falls or is impossible: " + edit);
    }
    Collection<Placed> leaving = leaving(edit.removedTables()).values();
    Collection<Placed> coming = coming(edit.addedTables(), leaving);
    Level[] levels = newest.levels().clone();
    for (int i = 0; i < levels.length; i++) {
      levels[i] = changed(levels[i], i, leaving, coming);
    }
    KeyspaceIds keyspaces = newest.keyspaceIds().with(edit);
    SegmentLiveness liveness = newest.liveness().with(edit, metas(leaving), metas(coming));
    BackupLineage history =
        newest.history().with(edit, newest.segments(), replayFrom, lastSequence);
    Version version =
        new Version(liveFiles, levels, liveness, keyspaces, history, replayFrom, lastSequence);
    return new Successor(version, leaving, coming);
  }

  void accept(Successor successor) {
    successor.leaving.forEach(placed -> tables.remove(placed.number()));
    successor.coming.forEach(placed -> tables.put(placed.number(), placed));
    newest = successor.version;
  }

  /** Rejects a table that no writer can have produced. */
  static void requireSound(AddedTable table) {
    TableMeta meta = table.meta();
    boolean sound =
        table.level() >= 0
            && table.level() < Version.LEVELS
            && meta.number() > 0
            && meta.number() < FileNumbers.LIMIT
            && meta.fileBytes() > 0
            && isKey(meta.smallestKey())
            && isKey(meta.largestKey())
            && Arrays.compareUnsigned(meta.smallestKey(), meta.largestKey()) <= 0
            && meta.smallestSequence() >= 0
            && meta.smallestSequence() <= meta.largestSequence()
            && meta.largestSequence() <= Limits.SEQUENCE_MAX
            && meta.tombstoneCount() >= 0
            && meta.tombstoneCount() <= meta.entryCount()
            && meta.hiddenCount() >= 0
            && meta.hiddenCount() < meta.entryCount()
            && meta.rangeCount() >= 0
            && meta.keyBytes() >= 0
            && meta.expiresAtMillisMin() >= 0
            && meta.expiresAtMillisMin() <= meta.expiresAtMillisMax();
    for (SegmentUse use : meta.segments()) {
      sound &= use.segment() > 0 && use.liveBytes() >= 0 && use.records() >= 0;
    }
    if (!sound) {
      throw new IllegalStateException("impossible in level " + table.level() + ": " + meta);
    }
  }

  private static boolean isKey(byte[] key) {
    return key.length > 0 && key.length <= Limits.STORED_KEY_BYTES_MAX;
  }

  private Map<Long, Placed> leaving(List<RemovedTable> removed) {
    Map<Long, Placed> leaving = new HashMap<>();
    for (RemovedTable table : removed) {
      Placed placed = tables.get(table.number());
      if (placed == null || placed.level != table.level()) {
        throw new IllegalStateException(
            "table " + table.number() + " is not in level " + table.level());
      }
      if (leaving.put(table.number(), placed) != null) {
        throw new IllegalStateException("table " + table.number() + " is removed twice");
      }
    }
    return leaving;
  }

  private List<Placed> coming(List<AddedTable> added, Collection<Placed> leaving) {
    Set<Long> moving = numbers(leaving);
    Set<Long> numbers = new HashSet<>();
    List<Placed> coming = new ArrayList<>(added.size());
    for (AddedTable table : added) {
      requireSound(table);
      TableMeta meta = table.meta();
      Placed present = tables.get(meta.number());
      if (!numbers.add(meta.number()) || (present != null && !moving.contains(meta.number()))) {
        throw new IllegalStateException("table " + meta.number() + " is added twice");
      }
      if (present != null && !present.file.meta().equals(meta)) {
        throw new IllegalStateException("a table changes as it moves: " + meta);
      }
      TableFile file =
          present != null ? present.file : new TableFile(meta, storage, storeId, cache);
      coming.add(new Placed(table.level(), file));
    }
    return coming;
  }

  private static Level changed(
      Level level, int index, Collection<Placed> leaving, Collection<Placed> coming) {
    Set<Long> removed = new HashSet<>();
    for (Placed placed : leaving) {
      if (placed.level == index) {
        removed.add(placed.number());
      }
    }
    List<TableFile> added = new ArrayList<>();
    for (Placed placed : coming) {
      if (placed.level == index) {
        added.add(placed.file);
      }
    }
    return removed.isEmpty() && added.isEmpty() ? level : level.with(removed, added);
  }

  private static Set<Long> numbers(Collection<Placed> placed) {
    Set<Long> numbers = new HashSet<>();
    placed.forEach(one -> numbers.add(one.number()));
    return numbers;
  }

  private static List<TableMeta> metas(Collection<Placed> placed) {
    return placed.stream().map(one -> one.file.meta()).toList();
  }
}
