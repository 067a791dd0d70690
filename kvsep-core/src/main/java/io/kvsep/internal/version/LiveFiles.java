package io.kvsep.internal.version;

import io.kvsep.internal.io.StoreFiles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Counts which tables and segments the live versions hold and reports those that none holds any
 * more.
 *
 * <p>A level or segment list that several versions share counts its files once, so a new version
 * costs in proportion to what is different about it. The counts are guarded by this object's
 * monitor, which is taken once for each version that comes or goes and never by a reader in
 * between; the listener is called without it.
 */
final class LiveFiles {
  private final ObsoleteFiles listener;

  /** How many live segment lists hold a segment's file; guarded by this. */
  private final Map<Long, Integer> segmentHolders = new HashMap<>();

  // All below are guarded by this.
  private final Set<Long> tableNumbers = new HashSet<>();
  private int tableCount;
  private long tableBytes;
  private @Nullable Version newest;

  LiveFiles(ObsoleteFiles listener) {
    this.listener = listener;
  }

  /** A version comes to life, and is the newest. */
  synchronized void hold(Version version) {
    newest = version;
    for (Level level : version.levels()) {
      if (level.sharers++ == 0) {
        for (TableFile table : level.tables) {
          if (table.retain()) {
            tableNumbers.add(table.meta().number());
            tableCount++;
            tableBytes += table.meta().fileBytes();
          }
        }
      }
    }
    SegmentList segments = version.liveness().segments();
    if (segments.sharers++ == 0) {
      segments.files().forEach(id -> segmentHolders.merge(id, 1, Integer::sum));
    }
  }

  /** Names of the tables and segments that some live version holds. */
  synchronized List<String> names() {
    List<String> names = new ArrayList<>();
    tableNumbers.forEach(number -> names.add(StoreFiles.table(number)));
    segmentHolders.forEach(
        (id, holders) -> {
          if (holders > 0) {
            names.add(StoreFiles.segment(id));
          }
        });
    return names;
  }

  /** Tables that some live version holds. */
  synchronized LiveTables tables() {
    TableTotal all = new TableTotal(tableCount, tableBytes);
    Version now = newest;
    return new LiveTables(
        all, now == null ? all : all.minus(new TableTotal(now.tableCount(), now.tableBytes())));
  }

  /** A version has lost its last holder. */
  void died(Version version) {
    List<TableFile> tables = new ArrayList<>();
    List<Long> segments = new ArrayList<>();
    synchronized (this) {
      for (Level level : version.levels()) {
        if (--level.sharers == 0) {
          for (TableFile table : level.tables) {
            if (table.release()) {
              tables.add(table);
              tableNumbers.remove(table.meta().number());
              tableCount--;
              tableBytes -= table.meta().fileBytes();
            }
          }
        }
      }
      SegmentList list = version.liveness().segments();
      if (--list.sharers == 0) {
        list.files()
            .filter(id -> segmentHolders.merge(id, -1, Integer::sum) == 0)
            .forEach(
                id -> {
                  segmentHolders.remove(id);
                  segments.add(id);
                });
      }
    }
    if (!tables.isEmpty() || !segments.isEmpty()) {
      listener.obsolete(
          Collections.unmodifiableList(tables), Collections.unmodifiableList(segments));
    }
  }
}
