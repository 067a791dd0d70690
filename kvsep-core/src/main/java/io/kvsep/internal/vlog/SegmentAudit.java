package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.file.NoSuchFileException;

/**
 * Reads every frame and record of a segment, also after damage: the next frame by its header, the
 * next record by its length if the lengths add up to the frame. Otherwise the rest of the frame
 * counts as damaged: its sequence numbers are unknown. Owns the mapping. Not thread safe.
 */
public final class SegmentAudit implements AutoCloseable {
  private static final int PULSE_FRAMES = 1024;

  private final long segment;
  private final String name;
  private final Region region;
  private final AuditSink sink;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();
  private final long end;

  private final boolean endIsUnknown;

  private long leastSequence;
  private long frameCount;
  private long recordCount;

  private SegmentAudit(long segment, Region region, long end, long leastSequence, AuditSink sink) {
    this.segment = segment;
    this.name = StoreFiles.segment(segment);
    this.region = region;
    this.end = end < 0 ? region.length() : Math.min(end, region.length());
    this.endIsUnknown = end < 0;
    this.leastSequence = leastSequence;
    this.sink = sink;
  }

  /** {@code endSequence} is the next sequence number. */
  public record Result(long bytes, long records, long endSequence) {}

  /**
   * Checks each frame and reports its records.
   *
   * @param end length of the part that belongs to the store; -1 for the whole file
   * @param leastSequence frames with a lower sequence number are invalid
   * @param mayBeTorn whether the log ends here: a damaged last frame may then be an incomplete
   *     write, and counts as damaged as a whole
   * @param pulse called periodically; may throw to stop the audit
   */
  public static Result run(
      Storage storage,
      StoreId storeId,
      long segment,
      long end,
      long leastSequence,
      boolean mayBeTorn,
      AuditSink sink,
      Runnable pulse) {
    String name = StoreFiles.segment(segment);
    Region region;
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < 1 || length > Integer.MAX_VALUE) {
        sink.damaged(
            0,
            Math.max(length, end),
            new CorruptionException(name, 0, "a segment", "a file of " + length + " bytes"));
        return new Result(0, 0, leastSequence);
      }
      // Excludes what an unpublished write has appended.
      region = Region.ofMapping(file.map(end < 1 ? length : Math.min(end, length)));
    } catch (NoSuchFileException e) {
      sink.damaged(
          0,
          Long.MAX_VALUE,
          new CorruptionException(name, 0, "a segment of this store", "no such file"));
      return new Result(0, 0, leastSequence);
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
    try (SegmentAudit survey = new SegmentAudit(segment, region, end, leastSequence, sink)) {
      survey.header(storeId);
      survey.frames(mayBeTorn, pulse);
      if (end > region.length()) {
        sink.damaged(
            region.length(),
            end,
            new CorruptionException(
                name, region.length(), end + " bytes of records", "end of file"));
      }
      return new Result(survey.end, survey.recordCount, survey.leastSequence);
    }
  }

  @Override
  public void close() {
    region.free();
  }

  private void header(StoreId storeId) {
    try {
      if (end < LogFormat.SEGMENT_HEADER_BYTES) {
        throw new CorruptionException(name, end, "a segment header", "end of file");
      }
      LogFormat.checkHeader(region, end, name, storeId, segment, window);
    } catch (CorruptionException e) {
      sink.damaged(0, Math.min(end, LogFormat.SEGMENT_HEADER_BYTES), e);
    } catch (IncompatibleFormatException e) {
      sink.damaged(
          0,
          Math.min(end, LogFormat.SEGMENT_HEADER_BYTES),
          new CorruptionException(
              name, 0, "a segment of this store", String.valueOf(e.getMessage())));
    }
  }

  private void frames(boolean mayBeTorn, Runnable pulse) {
    long at = LogFormat.SEGMENT_HEADER_BYTES;
    while (at < end) {
      if (frameCount % PULSE_FRAMES == 0) {
        pulse.run();
      }
      if (holdsHeader(at)) {
        long next = at + LogFormat.FRAME_HEADER_BYTES + bodyLength(at);
        if (mayBeTorn && !holdsRecords(at) && nextHeader(next, pulse) == end) {
          CorruptionException what =
              new CorruptionException(name, at, "a frame that holds", "damaged bytes");
          sink.damaged(at, end, what);
          return;
        }
        records(at);
        if (endIsUnknown && isEnd(at)) {
          // A crash may leave zeros or a failed write after it.
          return;
        }
        at = next;
      } else {
        String found = headerFound(at);
        long next = nextHeader(at + 1, pulse);
        sink.damaged(at, next, new CorruptionException(name, at, "a frame header", found));
        at = next;
      }
    }
  }

  private boolean isEnd(long frame) {
    return region.getInt(frame + LogFormat.RECORD_COUNT_AT) == 0;
  }

  private long nextHeader(long from, Runnable pulse) {
    for (long offset = from; offset < end; offset++) {
      if (holdsHeader(offset)) {
        return offset;
      }
      if ((offset & (1 << 20) - 1) == 0) {
        pulse.run();
      }
    }
    return end;
  }

  private boolean holdsHeader(long offset) {
    return end - offset >= LogFormat.FRAME_HEADER_BYTES
        && region.getInt(offset + LogFormat.FRAME_MAGIC_AT) == LogFormat.FRAME_MAGIC
        && LogFormat.frameCrcHolds(region, offset, segment, window)
        && region.getLong(offset + LogFormat.FIRST_SEQUENCE_AT) >= leastSequence
        && region.getInt(offset + LogFormat.RECORD_COUNT_AT) >= 0
        && region.getLong(offset + LogFormat.FIRST_SEQUENCE_AT)
            <= Limits.SEQUENCE_MAX - region.getInt(offset + LogFormat.RECORD_COUNT_AT)
        && bodyLength(offset) <= end - offset - LogFormat.FRAME_HEADER_BYTES;
  }

  private String headerFound(long offset) {
    if (end - offset < LogFormat.FRAME_HEADER_BYTES) {
      return "end of file";
    }
    if (region.getInt(offset + LogFormat.FRAME_MAGIC_AT) != LogFormat.FRAME_MAGIC) {
      return "other bytes";
    }
    if (!LogFormat.frameCrcHolds(region, offset, segment, window)) {
      return "one whose checksum does not hold";
    }
    long sequence = region.getLong(offset + LogFormat.FIRST_SEQUENCE_AT);
    return sequence < leastSequence
        ? "sequence " + sequence + ", expected " + leastSequence + " or later"
        : "one of " + bodyLength(offset) + " bytes, which the file does not have";
  }

  private long bodyLength(long frame) {
    return region.getInt(frame + LogFormat.BODY_LENGTH_AT) & 0xffff_ffffL;
  }

  private void records(long frame) {
    long sequence = region.getLong(frame + LogFormat.FIRST_SEQUENCE_AT);
    int count = region.getInt(frame + LogFormat.RECORD_COUNT_AT);
    frameCount += count > 0 ? 1 : 0;
    if (count > 0) {
      // Not for a segment end: earlier builds reused its number after failed writes.
      leastSequence = sequence + count;
    }
    long at = frame + LogFormat.FRAME_HEADER_BYTES;
    long limit = at + bodyLength(frame);
    boolean known = false;
    for (int i = 0; i < count; i++) {
      boolean decoded = record.decode(region, at, limit);
      if (!decoded || !record.crcHolds(region, segment, window)) {
        known = known || recordsFill(at, limit, count - i, /* withCrc= */ false);
        CorruptionException what =
            new CorruptionException(
                name, at, "record " + i + " of the frame at " + frame, "damaged bytes");
        if (!known) {
          sink.damaged(at, limit, what);
          return;
        }
        record.decode(region, at, limit);
        sink.damaged(at, at + record.length, what);
      } else {
        recordCount++;
        sink.record(region, record, at, sequence + i);
      }
      at += record.length;
    }
    if (at != limit) {
      sink.damaged(
          at,
          limit,
          new CorruptionException(
              name, at, "the end of the frame at " + frame, (limit - at) + " more bytes"));
    }
  }

  private boolean holdsRecords(long frame) {
    int count = region.getInt(frame + LogFormat.RECORD_COUNT_AT);
    long at = frame + LogFormat.FRAME_HEADER_BYTES;
    return recordsFill(at, at + bodyLength(frame), count, /* withCrc= */ true);
  }

  /** Whether {@code count} records fill the frame, optionally with valid checksums. */
  private boolean recordsFill(long from, long limit, int count, boolean withCrc) {
    long at = from;
    for (int i = 0; i < count; i++) {
      if (!record.decode(region, at, limit)
          || (withCrc && !record.crcHolds(region, segment, window))) {
        return false;
      }
      at += record.length;
    }
    return at == limit;
  }
}
