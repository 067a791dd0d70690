package io.kvsep.internal.version;

import com.google.errorprone.annotations.concurrent.GuardedBy;
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
 * Counts the tables and segments of live versions, and reports those that the last one releases.
 *
 * <p>A level or segment list counts its files once however many versions share it, so a new version
 * costs what it changes. The monitor is taken once per version that comes or goes, and is not held
 * in calls of the listener.
 */
final class LiveFiles {
  private final ObsoleteFiles listener;

  /** Number of live segment lists with the segment's file. */
  @GuardedBy("this")
  private final Map<Long, Integer> segmentHolders = new HashMap<>();

  @GuardedBy("this")
  private final Set<Long> tableNumbers = new HashSet<>();

  @GuardedBy("this")
  private int tableCount;

  @GuardedBy("this")
  private long tableBytes;

  @GuardedBy("this")
  private @Nullable Version newest;

  LiveFiles(ObsoleteFiles listener) {
    this.listener = listener;
  }

  /** Makes it the newest version. */
  @SuppressWarnings("GuardedBy") // The lambda runs under the lock.
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

  synchronized LiveTables tables() {
    TableTotal all = new TableTotal(tableCount, tableBytes);
    Version now = newest;
    return new LiveTables(
        all, now == null ? all : all.minus(new TableTotal(now.tableCount(), now.tableBytes())));
  }

  @SuppressWarnings("GuardedBy") // The lambda runs under the lock.
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
