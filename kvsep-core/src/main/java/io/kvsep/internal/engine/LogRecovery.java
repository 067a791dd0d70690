package io.kvsep.internal.engine;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.FrameEntryReader;
import io.kvsep.internal.vlog.LogScanner;
import io.kvsep.internal.vlog.Segment;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Finds how much of the log after the last flush is valid, without changing a byte, and replays it.
 *
 * <p>Reads the log up to the first invalid frame. The log is damaged, and the store does not open,
 * if anything shows that it was synced further: the manifest, a later frame, the first frames of a
 * later segment, or a table with part of an incomplete frame. Otherwise the rest was never
 * acknowledged as synced: a torn tail, which is cut off.
 */
final class LogRecovery {
  /**
   * The valid part of one segment.
   *
   * @param complete whether the log continues in the next segment
   * @param lastSequence no record up to {@code end} has a higher sequence number
   */
  record SoundPart(long segment, long from, long end, boolean complete, long lastSequence) {}

  private final Storage storage;
  private final StoreId storeId;
  private final Version version;
  private final List<SoundPart> parts = new ArrayList<>();
  private long lastSequence;
  private long writtenSequence;
  private int largestKeyspace;
  private long replayedBytes;
  private long tornBytes;
  private long tornSegment;
  private long spareSegment;
  private long endedSegment;

  LogRecovery(Storage storage, StoreId storeId, Version version) {
    this.storage = storage;
    this.storeId = storeId;
    this.version = version;
    this.lastSequence = version.lastSequence();
    for (SegmentState segment : version.segments().values()) {
      if (segment.isLog() && segment.isSealed() && segment.lastSequence() != SegmentState.UNKNOWN) {
        // Segments not replayed count too: failed writes may have used numbers without a frame.
        lastSequence = Math.max(lastSequence, segment.lastSequence());
      }
    }
  }

  /** Throws {@link CorruptionException} if the log is damaged. */
  void examine() {
    LogPosition start = version.replayFrom();
    List<SegmentState> segments =
        version.segments().tailMap(start.segment()).values().stream()
            .filter(SegmentState::isLog)
            .toList();
    LogPosition claim = version.history().syncedLog();
    long leastSequence = 0;
    for (int i = 0; i < segments.size(); i++) {
      SegmentState segment = segments.get(i);
      long from = segment.id() == start.segment() ? start.offset() : 0;
      try (LogScanner scanner = LogScanner.open(storage, storeId, segment.id(), from)) {
        long begin = scanner.offset();
        while (!reachedSeal(scanner, segment) && scanner.next(leastSequence)) {
          leastSequence = scanner.endSequence();
        }
        // The scanner reads positions and numbers of a frame again after its check.
        Region.requirePagesRead();
        long end = scanner.endOffset();
        boolean complete = reachedSeal(scanner, segment) || scanner.isComplete();
        if (scanner.isComplete()) {
          // The end mark accounts for numbers of failed writes, which left no frame.
          lastSequence = Math.max(lastSequence, scanner.firstSequence() - 1);
        }
        long last = Math.max(lastSequence, leastSequence - 1);
        parts.add(new SoundPart(segment.id(), begin, end, complete, last));
        replayedBytes += end - begin;
        claim = LogPosition.later(claim, scanner.durableClaim());
        largestKeyspace = Math.max(largestKeyspace, scanner.largestKeyspace());
        if (complete) {
          // A segment sealed in the manifest may have no successor there, as in a checkpoint.
          endedSegment = segment.isSealed() ? 0 : segment.id();
          continue;
        }
        endedSegment = 0;
        List<SegmentState> behind = segments.subList(i + 1, segments.size());
        if (segment.isSealed() || end < scanner.fileLength() || !isSpare(behind)) {
          cutOff(scanner, behind, claim, leastSequence);
        } else if (claim.compareTo(end()) > 0) {
          throw scanner.damage();
        }
        break;
      }
    }
    lastSequence = Math.max(lastSequence, leastSequence - 1);
    // Entries before the replay position are in tables; the version has their numbers.
    writtenSequence = Math.max(version.lastSequence(), leastSequence - 1);
  }

  /** Passes all valid entries in log order, frame by frame. */
  void replay(FrameEntryReader entries, Consumer<FrameEntryReader> sink) {
    for (SoundPart part : parts) {
      try (LogScanner scanner = LogScanner.open(storage, storeId, part.segment(), part.from())) {
        while (scanner.endOffset() < part.end() && scanner.next(0)) {
          scanner.readInto(entries);
          sink.accept(entries);
        }
        // Checks the pages copied above.
        Region.requirePagesRead();
        if (scanner.endOffset() != part.end()) {
          throw scanner.damage();
        }
      }
    }
  }

  /** One valid part per segment from the replay position on; empty only without segments. */
  List<SoundPart> parts() {
    return parts;
  }

  /** Length of a segment's valid part; negative if it is after a torn position. */
  long soundEnd(SegmentState state) {
    for (SoundPart part : parts) {
      if (part.segment() == state.id()) {
        return part.end();
      }
    }
    if (isTorn() && state.id() > end().segment()) {
      // Sealed or not: the seal may be durable before the content is.
      return -1;
    }
    return state.id() == spareSegment ? Segment.EMPTY_BYTES : state.sealedLength();
  }

  /** Sequence numbers up to this one are never assigned again. */
  long lastSequence() {
    return lastSequence;
  }

  /**
   * The highest sequence number of an entry. Higher numbers up to {@link #lastSequence} belong to
   * failed writes, and making these visible would look like a write.
   */
  long writtenSequence() {
    return writtenSequence;
  }

  int largestKeyspace() {
    return largestKeyspace;
  }

  long replayedBytes() {
    return replayedBytes;
  }

  long tornBytes() {
    return tornBytes;
  }

  boolean isTorn() {
    return tornSegment != 0;
  }

  /** The spare after the end of the log; 0 if none. */
  long spareSegment() {
    return spareSegment;
  }

  /**
   * The last segment in the manifest if it has an end mark, else 0. The mark is written only after
   * the edit that adds the next segment is durable, so that edit is lost.
   */
  long endedSegment() {
    return endedSegment;
  }

  LogPosition end() {
    if (parts.isEmpty()) {
      return version.replayFrom();
    }
    SoundPart last = parts.get(parts.size() - 1);
    return new LogPosition(last.segment(), last.end());
  }

  /** Whether nothing but perhaps the spare follows the end of the log. */
  private boolean isSpare(List<SegmentState> behind) {
    if (behind.size() > 1) {
      return false;
    }
    for (SegmentState segment : behind) {
      try (LogScanner scanner = LogScanner.open(storage, storeId, segment.id(), 0)) {
        if (scanner.fileLength() != Segment.EMPTY_BYTES) {
          return false;
        }
        spareSegment = segment.id();
      }
    }
    return true;
  }

  private static boolean reachedSeal(LogScanner scanner, SegmentState segment) {
    return segment.sealedLength() >= 0 && scanner.endOffset() >= segment.sealedLength();
  }

  private void cutOff(
      LogScanner scanner, List<SegmentState> behind, LogPosition claimSoFar, long leastSequence) {
    long inTables = sequenceInTables();
    LogPosition claim = LogPosition.later(claimSoFar, scanner.claimsFrom(leastSequence, inTables));
    LogPosition stop = end();
    tornBytes = scanner.fileLength() - stop.offset();
    for (SegmentState segment : behind) {
      try (LogScanner later = LogScanner.open(storage, storeId, segment.id(), 0)) {
        claim = LogPosition.later(claim, later.claimsFrom(leastSequence, inTables));
        tornBytes += later.fileLength();
      }
    }
    if (claim.compareTo(stop) > 0) {
      throw scanner.damage();
    }
    tornSegment = stop.segment();
  }

  /** The highest number in a table. The version's may belong to writes never synced. */
  private long sequenceInTables() {
    long highest = 0;
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        highest = Math.max(highest, table.meta().largestSequence());
      }
    }
    return highest;
  }
}
