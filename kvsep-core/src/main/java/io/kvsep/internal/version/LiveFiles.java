package io.kvsep.internal.version;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

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

  /** How many live segment lists hold a segment; guarded by this. */
  private final Map<Long, Integer> segmentHolders = new HashMap<>();

  LiveFiles(ObsoleteFiles listener) {
    this.listener = listener;
  }

  /** A version comes to life. */
  synchronized void hold(Version version) {
    for (Level level : version.levels()) {
      if (level.sharers++ == 0) {
        for (TableFile table : level.tables) {
          table.retain();
        }
      }
    }
    SegmentList segments = version.liveness().segments();
    if (segments.sharers++ == 0) {
      for (long id : segments.ids) {
        segmentHolders.merge(id, 1, Integer::sum);
      }
    }
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
            }
          }
        }
      }
      SegmentList list = version.liveness().segments();
      if (--list.sharers == 0) {
        for (long id : list.ids) {
          if (segmentHolders.merge(id, -1, Integer::sum) == 0) {
            segmentHolders.remove(id);
            segments.add(id);
          }
        }
      }
    }
    if (!tables.isEmpty() || !segments.isEmpty()) {
      listener.obsolete(
          Collections.unmodifiableList(tables), Collections.unmodifiableList(segments));
    }
  }
}
