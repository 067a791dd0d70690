package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;

/**
 * Reads the records of the log in order while it is being written, each verified before the sink
 * receives it. Keeps no memory: buffers are the scratch space of each call, during which the caller
 * is inside an epoch. Not thread safe.
 */
public final class LogReader {
  /** Bytes per read of an unmapped part. */
  private static final int CHUNK_BYTES = 1 << 16;

  /** Bytes of decoded records after which a call ends. */
  private static final int BATCH_BYTES = 1 << 18;

  /** Bytes of the log after which a call ends, because no memory can be freed during it. */
  static final int PASS_BYTES = 1 << 22;

  public interface Sink {
    /**
     * Receives a record.
     *
     * @param key as stored, with its keyspace prefix
     * @param value uncompressed; the end of a deleted range; empty for a delete
     * @param expiresAtMillis 0 if it does not expire
     * @param endsFrame whether it is the last of its commit
     */
    void record(
        long sequence, int kind, byte[] key, byte[] value, long expiresAtMillis, boolean endsFrame);
  }

  public enum Outcome {
    /** Records were passed on or skipped; there may be more. */
    READ,
    /** No more records yet. */
    PENDING,
    ENDED
  }

  private final RecordView record = new RecordView();

  /** Offset of the next frame header or, inside a frame, record. */
  private long offset = LogFormat.SEGMENT_HEADER_BYTES;

  /** End of the current frame, 0 between frames. */
  private long frameEnd;

  /** Sequence number of the frame's next record, and the one after its last. */
  private long sequence;

  private long endSequence;

  // Valid during a call.
  private Segment segment;
  private long limit;
  private ValueReader.Scratch scratch;
  private Region region;
  private long regionStart;
  private long regionEnd;

  /** Starts at the beginning of a segment. */
  @SuppressWarnings("NullAway.Init") // Fields of a call are set by read().
  public LogReader() {}

  public void restart() {
    offset = LogFormat.SEGMENT_HEADER_BYTES;
    frameEnd = 0;
  }

  /**
   * Passes on or skips the segment's next records, up to the limits of a call or one longer record.
   * After an exception the position is before the first record that was not passed on. After an
   * error the reader must {@link #restart}.
   *
   * @param end limit of the read: the end of a frame, at most the published end
   * @param after skips records up to this sequence number
   * @param until frames with a higher sequence number are pending
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
    // A segment without end marker ends where it was sealed.
    return segment.isSealed() && offset >= segment.publishedEnd() ? Outcome.ENDED : Outcome.PENDING;
  }

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
      long at = record.keyOffset;
      byte[] key = region.getBytes(at, record.keyLength);
      int kind = record.kind;
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

  private int decode() {
    require(frameEnd - offset);
    long at = offset - regionStart;
    if (!record.decode(region, at, frameEnd - regionStart)) {
      Region.requirePagesRead();
      throw damage("a record", "bytes that are none");
    }
    int length = record.length;
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
    if (!record.compressed) {
      return region.getBytes(record.storedOffset(), record.storedLength);
    }
    byte[] value = new byte[record.valueLength];
    ByteBuffer stored = scratch.window.over(region, record.storedOffset(), record.storedLength);
    ValueCodec.decompress(stored, ByteBuffer.wrap(value), segment.name(), offset);
    return value;
  }

  /** Makes the next {@code count} bytes, which are below the limit, accessible. */
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
    // A part too short to be mapped fits into memory.
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
