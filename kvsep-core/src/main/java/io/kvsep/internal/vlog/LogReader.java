package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;

/**
 * Reads the records of the log in their order, segment after segment, while it goes on being
 * written. Everything is verified before it is handed out. Keeps a place and no memory: what it
 * works with belongs to the scratch space of each call, during which the caller is inside the
 * epochs. Not thread safe.
 */
public final class LogReader {
  /** Bytes that are read at once where nothing is mapped. */
  private static final int CHUNK_BYTES = 1 << 16;

  /** Bytes that are handed out at once, as given, if the last record does not exceed them. */
  private static final int BATCH_BYTES = 1 << 18;

  /** Bytes of the log that are gone through at once: meanwhile nobody's memory is given back. */
  static final int PASS_BYTES = 1 << 22;

  /** Takes what was read. */
  public interface Sink {
    /**
     * One record.
     *
     * @param key as stored, with the prefix of its keyspace
     * @param value as given; the end of a deleted range; empty for a delete
     * @param expiresAtMillis 0 when it does not expire
     * @param endsFrame whether it is the last one of what was committed together
     */
    void record(
        long sequence, int kind, byte[] key, byte[] value, long expiresAtMillis, boolean endsFrame);
  }

  /** What a call came to. */
  public enum Outcome {
    /** Something was handed out or passed over; there may be more. */
    READ,
    /** There is nothing more, as yet. */
    PENDING,
    /** The segment is read to its end. */
    ENDED
  }

  private final RecordView record = new RecordView();

  /** Of the next frame's header, or inside a frame of its next record. */
  private long offset = LogFormat.SEGMENT_HEADER_BYTES;

  /** End of the frame in which the place is, 0 between two frames. */
  private long frameEnd;

  /** Number of the next record of the frame, and that behind its last one. */
  private long sequence;

  private long endSequence;

  // Of a call.
  private Segment segment;
  private long limit;
  private ValueReader.Scratch scratch;
  private Region region;
  private long regionStart;
  private long regionEnd;

  /** At the start of a segment; which one, each call is told. */
  @SuppressWarnings("NullAway.Init") // What is of a call is set at its beginning.
  public LogReader() {}

  /** To the start of another segment. */
  public void restart() {
    offset = LogFormat.SEGMENT_HEADER_BYTES;
    frameEnd = 0;
  }

  /**
   * Hands out the next records of the segment, some hundred kilobytes of them or one that is
   * longer; or passes over some megabytes of them. Where it throws an exception, the place is in
   * front of what was not handed out; after an error, only {@link #restart} makes it good.
   *
   * @param from the segment in which the place is
   * @param end where to stop, the end of a frame and at most what is published
   * @param after records up to this number are passed over
   * @param until frames are pending that have a record with a higher number
   */
  public Outcome read(
      Segment from, long end, long after, long until, ValueReader.Scratch with, Sink sink) {
    segment = from;
    limit = end;
    scratch = with;
    region = scratch.record.region();
    regionStart = 0;
    regionEnd = 0;
    long start = offset;
    long handedOut = 0;
    while (handedOut < BATCH_BYTES && offset - start < PASS_BYTES) {
      if (frameEnd == 0) {
        if (offset >= limit) {
          break;
        }
        Outcome outcome = enterFrame(after, until);
        if (outcome != Outcome.READ) {
          return offset > start ? Outcome.READ : outcome;
        }
      } else {
        handedOut += readRecord(after, sink);
      }
    }
    if (offset > start) {
      return Outcome.READ;
    }
    // Without an end in the log itself, it is where the segment was sealed.
    return segment.isSealed() && offset >= segment.publishedEnd() ? Outcome.ENDED : Outcome.PENDING;
  }

  /** Goes into the frame at the place, or past it when all of it is to be passed over. */
  private Outcome enterFrame(long after, long until) {
    if (limit - offset < LogFormat.FRAME_HEADER_BYTES) {
      throw damage("a frame header", "the end of what was written");
    }
    require(LogFormat.FRAME_HEADER_BYTES);
    long at = offset - regionStart;
    int crc =
        scratch.window.crc32c(region, at + 4, LogFormat.FRAME_HEADER_BYTES - 4)
            ^ LogFormat.place(segment.id(), offset);
    if (region.getInt(at + LogFormat.FRAME_MAGIC_AT) != LogFormat.FRAME_MAGIC
        || region.getInt(at) != crc) {
      Region.requirePagesRead();
      throw damage("a frame header", "bytes that do not hold");
    }
    int count = region.getInt(at + LogFormat.RECORD_COUNT_AT);
    if (count == 0) {
      return Outcome.ENDED;
    }
    long bodyLength = region.getInt(at + LogFormat.BODY_LENGTH_AT) & 0xffffffffL;
    long first = region.getLong(at + LogFormat.FIRST_SEQUENCE_AT);
    if (bodyLength > limit - offset - LogFormat.FRAME_HEADER_BYTES) {
      throw damage("a frame body of " + bodyLength + " bytes", "the end of what was written");
    }
    if (first + count - 1 > until) {
      return Outcome.PENDING;
    }
    offset += LogFormat.FRAME_HEADER_BYTES;
    if (first + count - 1 <= after) {
      offset += bodyLength;
      return Outcome.READ;
    }
    frameEnd = offset + bodyLength;
    sequence = first;
    endSequence = first + count;
    return Outcome.READ;
  }

  /** Returns how many bytes were handed out. */
  private long readRecord(long after, Sink sink) {
    if (offset >= frameEnd || sequence >= endSequence) {
      throw damage("records up to number " + (endSequence - 1), "a frame without them");
    }
    int length = decode();
    boolean last = sequence + 1 == endSequence;
    if (last != (offset + length == frameEnd)) {
      throw damage("the last record of a frame at its end", "a record of " + length + " bytes");
    }
    long handedOut = 0;
    if (sequence > after) {
      long at = record.keyOffset();
      byte[] key = region.getBytes(at, record.keyLength());
      int kind = record.kind();
      long expiry = Tag.expires(kind) ? record.expiresAtMillis(region) : 0;
      byte[] value = value();
      sink.record(sequence, kind, key, value, expiry, last);
      handedOut = Math.max(length, (long) key.length + value.length);
    }
    offset += length;
    sequence++;
    if (last) {
      frameEnd = 0;
    }
    return handedOut;
  }

  /** Points the view at the record at the place and verifies it; returns its length. */
  private int decode() {
    require(frameEnd - offset);
    long at = offset - regionStart;
    if (!record.decode(region, at, frameEnd - regionStart)) {
      Region.requirePagesRead();
      throw damage("a record", "bytes that are none");
    }
    int length = record.length();
    int crc =
        scratch.window.crc32c(region, at, length - LogFormat.CRC_BYTES)
            ^ LogFormat.place(segment.id(), offset);
    if (region.getInt(record.crcOffset()) != crc) {
      Region.requirePagesRead();
      throw damage(LogFormat.hex(crc), LogFormat.hex(region.getInt(record.crcOffset())));
    }
    return length;
  }

  private byte[] value() {
    if (!record.isCompressed()) {
      return region.getBytes(record.storedOffset(), record.storedLength());
    }
    byte[] value = new byte[record.valueLength()];
    ByteBuffer stored = scratch.window.over(region, record.storedOffset(), record.storedLength());
    ValueCodec.decompress(stored, ByteBuffer.wrap(value), segment.name(), offset);
    return value;
  }

  /** Sees to it that so many bytes from the place on can be looked at; they lie below the limit. */
  private void require(long count) {
    if (regionEnd - offset >= count) {
      return;
    }
    Region mapped = segment.mapped(offset + count, (int) count);
    if (mapped != null) {
      region = mapped;
      regionStart = 0;
      regionEnd = Math.min(limit, mapped.length());
      return;
    }
    // What is not mapped is shorter than what is worth a mapping.
    int length = (int) Math.max(count, Math.min(CHUNK_BYTES, limit - offset));
    region = scratch.record.ensure(length);
    segment.read(scratch.window.over(region, 0, length), offset);
    regionStart = offset;
    regionEnd = offset + length;
  }

  private CorruptionException damage(String expected, String found) {
    return new CorruptionException(segment.name(), offset, expected, found);
  }
}
