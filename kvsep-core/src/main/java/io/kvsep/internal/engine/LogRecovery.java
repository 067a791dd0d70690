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

/**
 * Finds out how much of the log behind the last flush holds, without changing a byte, and then
 * hands its entries out.
 *
 * <p>The log is read in order until the first frame that does not hold. If anything says that the
 * log had been synced beyond that place (the manifest, a later frame, the beginning of a later
 * segment's frames, or a table with a part of a frame that is not whole), it is damage, and the
 * store does not open: dropping synced data silently is the one thing that must never happen.
 * Otherwise the rest was never promised to anybody, it is a torn tail, and is cut off.
 */
final class LogRecovery {
  /**
   * What holds of one segment.
   *
   * @param complete whether the log goes on in the next one
   * @param lastSequence no record up to here has a higher number
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
        // Also of those that are not read: a failed write may have taken numbers no frame has.
        lastSequence = Math.max(lastSequence, segment.lastSequence());
      }
    }
  }

  /** Reads the log and decides; throws {@link CorruptionException} when it is damaged. */
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
        // What was sound may have been read again since, for its positions and numbers.
        Region.requirePagesRead();
        long end = scanner.endOffset();
        boolean complete = reachedSeal(scanner, segment) || scanner.isComplete();
        if (scanner.isComplete()) {
          // The end knows more of them than there are frames: failed writes took numbers, too.
          lastSequence = Math.max(lastSequence, scanner.firstSequence() - 1);
        }
        long last = Math.max(lastSequence, leastSequence - 1);
        parts.add(new SoundPart(segment.id(), begin, end, complete, last));
        replayedBytes += end - begin;
        claim = LogPosition.later(claim, scanner.durableClaim());
        largestKeyspace = Math.max(largestKeyspace, scanner.largestKeyspace());
        if (complete) {
          // Of what the manifest seals it need not know the next one, as in a checkpoint.
          endedSegment = segment.isSealed() ? 0 : segment.id();
          continue;
        }
        endedSegment = 0;
        List<SegmentState> behind = segments.subList(i + 1, segments.size());
        if (segment.isSealed() || end < scanner.lengthWithoutRoom() || !isSpare(behind)) {
          cutOff(scanner, behind, claim, leastSequence);
        } else if (claim.compareTo(end()) > 0) {
          throw scanner.damage();
        }
        break;
      }
    }
    lastSequence = Math.max(lastSequence, leastSequence - 1);
    // What is in front of the replay position is in tables, of which the version knows.
    writtenSequence = Math.max(version.lastSequence(), leastSequence - 1);
  }

  /** Walks all entries that hold, in order; {@code sink} takes one frame at a time. */
  void replay(FrameEntryReader entries, FrameSink sink) {
    for (SoundPart part : parts) {
      try (LogScanner scanner = LogScanner.open(storage, storeId, part.segment(), part.from())) {
        while (scanner.endOffset() < part.end() && scanner.next(0)) {
          scanner.readInto(entries);
          sink.accept(entries, part.segment(), scanner.offset());
        }
        // Nor may anything have been copied that was not what was checked.
        Region.requirePagesRead();
        if (scanner.endOffset() != part.end()) {
          throw scanner.damage();
        }
      }
    }
  }

  /** Takes the entries of one frame. */
  interface FrameSink {
    void accept(FrameEntryReader entries, long segment, long offset);
  }

  /**
   * What holds, per segment from the replay position on; never empty unless there is no segment.
   */
  List<SoundPart> parts() {
    return parts;
  }

  /** How much of a segment of the log holds, negative when it lies behind a torn place. */
  long soundEnd(SegmentState state) {
    for (SoundPart part : parts) {
      if (part.segment() == state.id()) {
        return part.end();
      }
    }
    if (isTorn() && state.id() > end().segment()) {
      // Also where it is sealed: that can be durable before what is in it is.
      return -1;
    }
    return state.id() == spareSegment ? Segment.EMPTY_BYTES : state.sealedLength();
  }

  /** No number up to here is given out again. */
  long lastSequence() {
    return lastSequence;
  }

  /**
   * The highest number of an entry. What lies between is of writes that failed: to show it would
   * look as if somebody had written since.
   */
  long writtenSequence() {
    return writtenSequence;
  }

  /** The largest id of a keyspace that was written into. */
  int largestKeyspace() {
    return largestKeyspace;
  }

  long replayedBytes() {
    return replayedBytes;
  }

  /** Bytes that will be cut off. */
  long tornBytes() {
    return tornBytes;
  }

  boolean isTorn() {
    return tornSegment != 0;
  }

  /** A segment behind the log's end that the log may go on in later; 0 if there is none. */
  long spareSegment() {
    return spareSegment;
  }

  /**
   * The last segment that the manifest knows, if the log says that it goes on in another; else 0. A
   * segment ends only once the edit of the next one is durable.
   */
  long endedSegment() {
    return endedSegment;
  }

  /** The end of what holds. */
  LogPosition end() {
    if (parts.isEmpty()) {
      return version.replayFrom();
    }
    SoundPart last = parts.get(parts.size() - 1);
    return new LogPosition(last.segment(), last.end());
  }

  /**
   * Whether what lies behind the log's end is at most one segment that was made ahead of need, and
   * nothing was written into.
   */
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
    tornBytes = scanner.lengthWithoutRoom() - stop.offset();
    for (SegmentState segment : behind) {
      try (LogScanner later = LogScanner.open(storage, storeId, segment.id(), 0)) {
        claim = LogPosition.later(claim, later.claimsFrom(leastSequence, inTables));
        tornBytes += later.lengthWithoutRoom();
      }
    }
    if (claim.compareTo(stop) > 0) {
      throw scanner.damage();
    }
    tornSegment = stop.segment();
  }

  /** The highest number in a table. That of the version may belong to what was never synced. */
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
