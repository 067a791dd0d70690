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
 * The log of a damaged store: its records, sorted, and the sequence number up to which writes may
 * be missing.
 *
 * <p>Sequence numbers ascend without gaps, except where writes failed. A gap therefore counts as
 * lost writes, in a missing segment or in damaged bytes.
 */
final class LogSource {
  /**
   * @param from records before this offset are used only if entries of their keys were lost in
   *     tables
   * @param end how much of the file counts, -1 for all
   */
  record Part(long segment, long from, long end) {}

  /**
   * @param at end of the valid log
   * @param lost whether more had been synced than the file has; if false, a crash tore off the rest
   */
  record Tail(LogPosition at, boolean lost) {}

  /** Value before the first record. */
  private static final long NOT_BEGUN = -1;

  private final Storage storage;
  private final StoreId storeId;
  private final SortedRuns runs;
  private final LostKeys lostKeys;
  private final Losses losses;
  private final RangeTombstones.Builder ranges = new RangeTombstones.Builder();

  /** Per segment, the sequence number after its last record. */
  private final TreeMap<Long, Long> endSequences = new TreeMap<>();

  /** Per segment, the sequence number of its first record, if any. */
  private final TreeMap<Long, Long> firstSequences = new TreeMap<>();

  /** Missing segments whose relocated records show that they were log segments. */
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

  /** Reads segments in ascending order. */
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

  /** The store had reached this sequence number; what the log lacks up to it is missing. */
  void endsNotBefore(long lastSequence) {
    if (expected <= lastSequence) {
      gapEnd = lastSequence + 1;
      completeFrom = lastSequence + 1;
      gapCount++;
    }
  }

  void endIsUnknown() {
    completeFrom = Long.MAX_VALUE;
  }

  /** After the last record; 0 without records. */
  long endSequence() {
    return Math.max(0, expected);
  }

  /** No write is missing from this sequence number on. */
  long completeFrom() {
    return completeFrom;
  }

  /** First sequence number after the last gap. */
  long gapEnd() {
    return gapEnd;
  }

  /** Places with missing writes: files dropped by reclaim, or damaged bytes. */
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
   * Adds the relocated records of missing segments with estimated sequence numbers: after those of
   * preceding segments, before those of following ones, in log order among each other. If records
   * outnumber the numbers in between, the last ones share one. The segment id is then that of a
   * blob file, whose records were written before the preceding segments, or of a load, whose
   * entries have few numbers.
   *
   * @param all if false, only records to which a lost entry may have pointed: all others are dead
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

  /** Whether a missing segment was a log segment. */
  boolean wasOfLog(long segment) {
    return framed.contains(segment);
  }

  /**
   * Determines the end of the log like recovery. Null if it is sound, or if the audit of the
   * segments finds the damage.
   *
   * @param spare an empty segment after the parts
   * @param synced how far the log had been synced according to the manifest
   * @param sequenceInTables highest in a current table; 0 if unknown
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
          long length = scanner.fileLength();
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
          // If the file continues, the audit finds the damage.
          return end == length ? new Tail(stop, /* lost= */ true) : null;
        }
      }
    } catch (CorruptionException | IncompatibleFormatException e) {
      // Headers are synced before anything after them, so this is damage; the audit finds it.
      return null;
    }
    if (spare == null) {
      return null;
    }
    // The log may have continued in the spare segment.
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
    return region.getBytes(record.keyOffset, record.keyLength);
  }

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
      if (record.kind == Tag.RANGE_DELETE) {
        ranges.add(
            key(region, record),
            region.getBytes(record.storedOffset(), record.storedLength),
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
