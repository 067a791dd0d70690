package io.kvsep.internal.repair;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.vlog.AuditSink;
import io.kvsep.internal.vlog.LogScanner;
import io.kvsep.internal.vlog.RecordReader;
import io.kvsep.internal.vlog.RecordView;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentAudit;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The log of a damaged store: its records, sorted, and up to which sequence number something of it
 * may be missing.
 *
 * <p>Sequence numbers ascend through the log without gaps, but where writes failed. So a gap is
 * taken for writes that are lost: in a segment that is gone, or in damaged bytes.
 */
final class LogSource {
  /**
   * A segment to be looked at.
   *
   * @param from records in front of this offset are wanted only if their keys are lost elsewhere
   * @param end how much of the file counts, -1 for all
   */
  record Part(long segment, long from, long end) {}

  /**
   * Where the log ends.
   *
   * @param at where it stops to hold
   * @param lost whether there was more that had been synced, of which the file has nothing; else a
   *     crash tore off what is behind
   */
  record Tail(LogPosition at, boolean lost) {}

  /** Before the first record was seen. */
  private static final long NOT_BEGUN = -1;

  private final Storage storage;
  private final StoreId storeId;
  private final SortedRuns runs;
  private final LostKeys lostKeys;
  private final Losses losses;
  private final RangeTombstones.Builder ranges = new RangeTombstones.Builder();

  /** Behind the last record of each segment. */
  private final TreeMap<Long, Long> endSequences = new TreeMap<>();

  /** Of the first record of each segment that has one. */
  private final TreeMap<Long, Long> firstSequences = new TreeMap<>();

  /** Segments without a file of which their relocated records tell that they were of the log. */
  private final Set<Long> framed = new HashSet<>();

  private long expected = NOT_BEGUN;
  private long completeFrom;
  private long gapEnd;
  private long bytes;
  private int count;
  private int gapCount;

  LogSource(Storage storage, StoreId storeId, SortedRuns runs, LostKeys lostKeys, Losses losses) {
    this.storage = storage;
    this.storeId = storeId;
    this.runs = runs;
    this.lostKeys = lostKeys;
    this.losses = losses;
  }

  /** Reads segments, which ascend. */
  void read(List<Part> parts) {
    for (int i = 0; i < parts.size(); i++) {
      Part part = parts.get(i);
      Sink sink = new Sink(part);
      SegmentAudit.Result result =
          SegmentAudit.run(
              storage,
              storeId,
              part.segment(),
              part.end(),
              Math.max(0, expected),
              /* mayBeTorn= */ i == parts.size() - 1,
              sink,
              () -> {});
      count++;
      bytes += result.bytes();
      endSequences.put(part.segment(), Math.max(0, expected));
      if (sink.firstSequence != NOT_BEGUN) {
        firstSequences.put(part.segment(), sink.firstSequence);
      }
    }
  }

  /** Says up to where the store had got: what the log does not have of that is missing. */
  void endsNotBefore(long lastSequence) {
    if (expected <= lastSequence) {
      gapEnd = lastSequence + 1;
      completeFrom = lastSequence + 1;
      gapCount++;
    }
  }

  /** Nothing tells where the store had got to. */
  void endIsUnknown() {
    completeFrom = Long.MAX_VALUE;
  }

  /** The sequence number behind the last record, 0 when there is none. */
  long endSequence() {
    return Math.max(0, expected);
  }

  /** From this sequence number on no write is missing. */
  long completeFrom() {
    return completeFrom;
  }

  /** The first sequence number behind the last gap. */
  long gapEnd() {
    return gapEnd;
  }

  /** Where writes are missing: in files that reclaim has dropped, or in damaged bytes. */
  int gapCount() {
    return gapCount;
  }

  RangeTombstones ranges() {
    return ranges.build();
  }

  int count() {
    return count;
  }

  long bytes() {
    return bytes;
  }

  /**
   * Adds the relocated records of segments that are gone, under sequence numbers that are about
   * right: behind those of the segments in front, before those of the segments behind, and in the
   * order of the log among each other. Where there are more records than numbers between the two,
   * the last ones share one: their name is that of a relocated file, whose records were written
   * before the segments in front, or of a load, whose entries have few numbers.
   *
   * @param all else those alone that an entry which is lost may have pointed to: all others are
   *     dead
   */
  void readRelocated(RecordReader reader, SortedRuns target, boolean all) {
    long before = 0;
    long base = 0;
    for (long segment : reader.relocatedSegments()) {
      Map.Entry<Long, Long> front = endSequences.lowerEntry(segment);
      long end = front == null ? 0 : front.getValue();
      if (end != before) {
        before = end;
        base = 0;
      }
      Map.Entry<Long, Long> behind = firstSequences.higherEntry(segment);
      long last = behind == null ? Long.MAX_VALUE : behind.getValue() - 1;
      long first = before + base;
      boolean ofLog =
          reader.relocated(
              segment,
              (region, record, oldSegment, oldOffset, file, rank) -> {
                if (all || lostKeys.mayHaveNamed(key(region, record), oldSegment, file)) {
                  long sequence = Math.min(first + rank, last);
                  target.add(region, record, oldSegment, oldOffset, sequence);
                }
              });
      if (ofLog) {
        framed.add(segment);
      }
      base += reader.relocatedCount(segment);
    }
  }

  /** Whether a segment that has no file any more is known to have been one of the log. */
  boolean wasOfLog(long segment) {
    return framed.contains(segment);
  }

  /**
   * How the log ends, as recovery sees it: null where nothing is wrong with its end, or where the
   * survey of the segments comes upon what is.
   *
   * @param spare a segment without a frame behind the parts, null for none
   * @param synced up to where the manifest says that the log had been synced
   * @param sequenceInTables the highest number in a table that is in force; 0 if nobody knows
   */
  static @Nullable Tail tail(
      Storage storage,
      StoreId storeId,
      List<Part> parts,
      @Nullable Part spare,
      LogPosition synced,
      long sequenceInTables) {
    LogPosition claim = synced;
    long leastSequence = 0;
    try {
      for (int i = 0; i < parts.size(); i++) {
        Part part = parts.get(i);
        try (LogScanner scanner = LogScanner.open(storage, storeId, part.segment(), part.from())) {
          while (!isAtEnd(scanner, part) && scanner.next(leastSequence)) {
            leastSequence = scanner.endSequence();
          }
          claim = later(claim, scanner.durableClaim());
          long end = scanner.endOffset();
          boolean last = i == parts.size() - 1;
          boolean complete = isAtEnd(scanner, part) || scanner.isComplete();
          LogPosition stop = new LogPosition(part.segment(), end);
          long length = scanner.lengthWithoutRoom();
          if (!complete && last && end == length) {
            return claim.compareTo(stop) > 0 ? new Tail(stop, /* lost= */ true) : null;
          }
          if (complete) {
            continue;
          }
          claim = later(claim, scanner.claimsFrom(leastSequence, sequenceInTables));
          for (Part behind : parts.subList(i + 1, parts.size())) {
            try (LogScanner other = LogScanner.open(storage, storeId, behind.segment(), 0)) {
              claim = later(claim, other.claimsFrom(leastSequence, sequenceInTables));
            }
          }
          if (claim.compareTo(stop) <= 0) {
            return new Tail(stop, /* lost= */ false);
          }
          // Where the file goes on, the survey tells.
          return end == length ? new Tail(stop, /* lost= */ true) : null;
        }
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      // Headers are synced before anything stands behind them, so this is damage.
      return null;
    }
    if (spare == null) {
      return null;
    }
    // The log may have gone on there.
    LogPosition stop = new LogPosition(spare.segment(), Segment.EMPTY_BYTES);
    return claim.compareTo(stop) > 0 ? new Tail(stop, /* lost= */ true) : null;
  }

  private static boolean isAtEnd(LogScanner scanner, Part part) {
    return part.end() >= 0 && scanner.endOffset() >= part.end();
  }

  private static LogPosition later(LogPosition a, LogPosition b) {
    return a.compareTo(b) >= 0 ? a : b;
  }

  private static byte[] key(Region region, RecordView record) {
    return region.getBytes(record.keyOffset(), record.keyLength());
  }

  /** Takes the records of one segment. */
  private final class Sink implements AuditSink {
    private final Part part;
    private long firstSequence = NOT_BEGUN;

    Sink(Part part) {
      this.part = part;
    }

    @Override
    public void record(Region region, RecordView record, long offset, long sequence) {
      if (sequence > Math.max(1, expected)) {
        gapEnd = sequence;
        completeFrom = sequence;
        gapCount++;
      }
      expected = sequence + 1;
      firstSequence = firstSequence == NOT_BEGUN ? sequence : firstSequence;
      if (record.kind() == Tag.RANGE_DELETE) {
        ranges.add(
            key(region, record),
            region.getBytes(record.storedOffset(), record.storedLength()),
            sequence);
      } else if (offset >= part.from() || lostKeys.contains(key(region, record))) {
        runs.add(region, record, part.segment(), offset, sequence);
      }
    }

    @Override
    public void damaged(long from, long to, CorruptionException what) {
      if (to > part.from()) {
        losses.add(
            StoreFiles.segment(part.segment()),
            Math.max(from, 0),
            to,
            "writes, of keys that are not known: " + Losses.describe(what));
      }
    }
  }
}
