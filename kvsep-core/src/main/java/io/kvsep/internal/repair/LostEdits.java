package io.kvsep.internal.repair;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.UnknownTables;
import io.kvsep.internal.version.SalvagedManifest;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.vlog.LogScanner;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Detects a lost manifest edit, as opening does: an unknown segment with frames, an unknown
 * keyspace with entries, a segment that ends without a known successor, or a table newer than all
 * of these.
 */
record LostEdits(Storage storage, MemoryLedger ledger) implements SalvagedManifest.EditSearch {
  @Override
  public boolean find(
      SalvagedManifest manifest, StoreId storeId, Collection<String> files, long idLimit) {
    if (LogScanner.unknownWithFrames(storage, files, storeId, idLimit) != null) {
      return true;
    }
    LogPosition start = manifest.replayFrom();
    List<SegmentState> replayed =
        manifest.segments().tailMap(start.segment()).values().stream()
            .filter(SegmentState::isLog)
            .toList();
    long last = manifest.lastSequence();
    for (SegmentState segment : manifest.segments().values()) {
      boolean knows =
          segment.isLog() && segment.isSealed() && segment.lastSequence() != SegmentState.UNKNOWN;
      last = knows ? Math.max(last, segment.lastSequence()) : last;
    }
    for (int i = 0; i < replayed.size(); i++) {
      SegmentState segment = replayed.get(i);
      long from = segment.id() == start.segment() ? start.offset() : 0;
      boolean isLast = i == replayed.size() - 1;
      try (LogScanner scanner = LogScanner.open(storage, storeId, segment.id(), from)) {
        long leastSequence = 0;
        while (scanner.next(leastSequence)) {
          leastSequence = scanner.endSequence();
        }
        last = Math.max(last, leastSequence - 1);
        if (scanner.isComplete()) {
          last = Math.max(last, scanner.firstSequence() - 1);
        }
        boolean goesOn = isLast && !segment.isSealed() && scanner.isComplete();
        if (goesOn || scanner.largestKeyspace() >= manifest.nextKeyspace()) {
          return true;
        }
      } catch (CorruptionException | IncompatibleFormatException e) {
        // Reading the segment later reports the damage.
        return false;
      }
    }
    Set<Long> known = manifest.tables().stream().map(TableMeta::number).collect(Collectors.toSet());
    return UnknownTables.ahead(storage, files, known, storeId, ledger, last) != null;
  }
}
