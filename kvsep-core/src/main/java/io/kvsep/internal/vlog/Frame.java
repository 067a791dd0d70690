package io.kvsep.internal.vlog;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * One batch encoded for the log: a frame header and its records, see {@link LogFormat}.
 *
 * <p>The writing thread encodes, compresses and checksums a frame that fits its memory allowance
 * before the log position is known; {@link #place} then only patches sequence, position and
 * checksums. A larger frame, or one that is faster to stream, is measured, and encoded through the
 * log's fixed buffer during the write: a value may exceed the memory budget, and a waiting write
 * holds no memory.
 *
 * <p>Not thread safe: passed from the writing thread to its commit leader and back.
 */
public final class Frame implements AutoCloseable {
  /**
   * Kind, three varints, expiry. A range delete has no expiry but its end's keyspace prefix, which
   * is shorter.
   */
  private static final int RECORD_HEADER_BYTES_MAX = 1 + 3 + 5 + 5 + 8;

  /** Compressing shorter streamed values is not worth the heap it takes. */
  private static final int STREAMED_COMPRESSION_BYTES_MIN = 1 << 16;

  private static final byte[] NOT_PACKED = new byte[0];
  private static final int[] NO_RECORDS = {};

  // Fields kept of each record in memory. The kind includes the LZ4 flag.
  private static final int KIND = 0;
  private static final int KEY_LENGTH = 1;
  private static final int VALUE_LENGTH = 2;
  private static final int STORED_LENGTH = 3;
  private static final int END = 4;
  private static final int CRC = 5;
  private static final int FIELDS = 6;

  public record Encoding(int inlineValueBytesMax, int compressionBytesMin) {
    boolean compresses(int valueLength) {
      return valueLength >= compressionBytesMin && valueLength > inlineValueBytesMax;
    }
  }

  private final Encoding encoding;
  private final GrowingRegion memory;
  private final GrowingRegion packed;
  private final GrowingRegion raw;
  private final NativeWindow packedWindow = new NativeWindow();
  private final NativeWindow window = new NativeWindow();
  private final RecordSink sink;
  private final ValueCodec codec = new ValueCodec();

  /** Incompressible short values say nothing about long ones. */
  private final ValueCodec streamedCodec = new ValueCodec();

  private final List<byte[]> packedValues = new ArrayList<>();

  /** {@link #FIELDS} of each record in memory. */
  private int[] records = NO_RECORDS;

  private @Nullable RecordSource streamed;
  private long bodyLength;
  private int recordCount;
  private long payloadBytes;
  private long indexBytes;
  private long segment;
  private long offset;
  private long firstSequence;

  public Frame(MemoryLedger ledger, Encoding encoding) {
    this.encoding = encoding;
    this.memory = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    this.packed = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    this.raw = new GrowingRegion(ledger, MemoryPurpose.COMMIT);
    this.sink = new RecordSink(memory);
  }

  public static long lengthMax(long payloadBytes, int recordCount) {
    return LogFormat.FRAME_HEADER_BYTES
        + payloadBytes
        + (long) recordCount
            * (RECORD_HEADER_BYTES_MAX + LogFormat.CRC_BYTES + Limits.KEYSPACE_PREFIX_BYTES_MAX);
  }

  /** As {@link #lengthMax}, for one record with a stored key. */
  static long recordLengthMax(int keyLength, int valueLength) {
    return (long) RECORD_HEADER_BYTES_MAX + keyLength + valueLength + LogFormat.CRC_BYTES;
  }

  /**
   * Encodes the records of {@code source} or, unless {@code inMemory}, measures them. Streaming
   * reads them again during the write, so the source must not change until the commit ends.
   */
  public void encode(RecordSource source, boolean inMemory) {
    recordCount = source.recordCount();
    payloadBytes = source.payloadBytes();
    indexBytes = 0;
    packedValues.clear();
    source.rewind();
    try {
      if (!inMemory) {
        streamed = source;
        measure(source);
        return;
      }
      streamed = null;
      // One allocation: growing in steps would copy a large batch several times.
      startInMemory();
      for (int i = 0; source.next(); i++) {
        putRecord(i, source);
      }
    } catch (IOException e) {
      throw new UncheckedIOException("a frame in memory does no I/O", e);
    }
  }

  /**
   * Encodes a single put from {@link #scratch}, where the value follows the key. Allocates nothing
   * once the memory of the frame has grown.
   */
  public void encodeScratch(int keyspace, int keyLength, int valueLength) {
    recordCount = 1;
    payloadBytes = (long) keyLength + valueLength;
    indexBytes = 0;
    streamed = null;
    Region source = raw.region();
    try {
      startInMemory();
      int stored = -1;
      if (encoding.compresses(valueLength)) {
        ByteBuffer value = window.over(source, keyLength, valueLength);
        stored = codec.compress(value, packed, packedWindow);
      }
      sink.begin();
      int storedKeyLength = putHeader(sink, Tag.PUT, keyspace, keyLength, valueLength, stored, 0);
      sink.put(source, 0, keyLength);
      if (stored >= 0) {
        sink.put(packed.region(), 0, stored);
      } else {
        sink.put(source, keyLength, valueLength);
      }
      endRecord(0, Tag.PUT, storedKeyLength, valueLength, stored);
    } catch (IOException e) {
      throw new UncheckedIOException("a frame in memory does no I/O", e);
    }
  }

  private void startInMemory() {
    bodyLength = 0;
    sink.toMemory(LogFormat.FRAME_HEADER_BYTES, lengthMax(payloadBytes, recordCount));
    if (records.length / FIELDS < recordCount) {
      records = new int[Math.multiplyExact(recordCount, FIELDS)];
    }
  }

  public Region scratch(long length) {
    return raw.ensure(Math.max(1, length));
  }

  public boolean isStreamed() {
    return streamed != null;
  }

  /** Includes the header. */
  public long length() {
    return LogFormat.FRAME_HEADER_BYTES + bodyLength;
  }

  public int recordCount() {
    return recordCount;
  }

  /** Bytes of keys and values before encoding. */
  public long payloadBytes() {
    return payloadBytes;
  }

  /** Upper bound of the bytes of keys and payloads in the index. */
  public long indexBytes() {
    return indexBytes;
  }

  /** Of the last record, once placed; the numbers of a frame are consecutive. */
  public long lastSequence() {
    return firstSequence + recordCount - 1;
  }

  long offset() {
    return offset;
  }

  /**
   * Sets the position, which completes a frame in memory. May be called again after an abandoned
   * append.
   *
   * @return the memory of the frame, or null if {@link #stream} writes it
   */
  @Nullable Region place(long atSegment, long atOffset, long sequence, LogPosition durable) {
    segment = atSegment;
    offset = atOffset;
    firstSequence = sequence;
    if (streamed != null) {
      return null;
    }
    Region region = memory.region();
    putFrameHeader(region, durable);
    int start = LogFormat.FRAME_HEADER_BYTES;
    for (int i = 0; i < recordCount * FIELDS; i += FIELDS) {
      int end = records[i + END];
      int place = LogFormat.place(segment, offset + start);
      region.putInt(end - LogFormat.CRC_BYTES, records[i + CRC] ^ place);
      start = end;
    }
    return region;
  }

  /** Lets {@code entries} read the records, once they are in the log. */
  public void readInto(FrameEntryReader entries, SegmentDirectory directory) {
    if (streamed == null) {
      entries.start(this, memory.region(), 0, length(), segment, offset, firstSequence);
      return;
    }
    // The mapping is replaced and retired only after this thread publishes more.
    Region mapped = directory.get(segment).mapped(offset + length(), Integer.MAX_VALUE);
    if (mapped == null) {
      throw new IllegalStateException("a published frame can always be mapped");
    }
    entries.start(null, mapped, offset, length(), segment, offset, firstSequence);
  }

  /** Sets the fields of a record in memory as decoding it would. */
  void read(int index, int start, RecordView record) {
    int at = index * FIELDS;
    int kind = records[at + KIND];
    record.kind = kind & ~LogFormat.LZ4;
    record.compressed = (kind & LogFormat.LZ4) != 0;
    record.start = start;
    record.length = records[at + END] - start;
    record.keyLength = records[at + KEY_LENGTH];
    record.storedLength = records[at + STORED_LENGTH];
    record.valueLength = records[at + VALUE_LENGTH];
    record.keyOffset =
        (long) records[at + END] - LogFormat.CRC_BYTES - record.storedLength - record.keyLength;
  }

  /** Encodes a streamed frame; {@code target} is at the position of the frame. */
  void stream(RecordSink target, LogPosition durable) throws IOException {
    RecordSource source = streamed;
    if (source == null) {
      throw new IllegalStateException("the frame is in memory");
    }
    Region header = target.reserve(LogFormat.FRAME_HEADER_BYTES);
    putFrameHeader(header, durable);
    target.advance(LogFormat.FRAME_HEADER_BYTES);
    source.rewind();
    int nextPacked = 0;
    while (source.next()) {
      long recordOffset = target.filePosition();
      byte[] packedValue = compressesStreamed(source) ? packedValues.get(nextPacked++) : NOT_PACKED;
      target.begin();
      boolean compressed = packedValue.length > 0;
      int stored = compressed ? packedValue.length : -1;
      putHeaderAndKey(target, source, stored);
      if (compressed) {
        target.put(packedValue, 0, stored);
      } else if (source.value != null) {
        target.put(source.value, source.valueOffset, source.valueLength);
      }
      target.end(LogFormat.place(segment, recordOffset));
    }
    target.flush();
    if (target.filePosition() != offset + length()) {
      throw new IllegalStateException("the batch changed while it was written");
    }
  }

  /** Drops references to the batch. Returns the bytes of memory kept. */
  public long forget() {
    streamed = null;
    packedValues.clear();
    return memory.capacity() + packed.capacity() + raw.capacity();
  }

  @Override
  public void close() {
    records = NO_RECORDS;
    memory.close();
    packed.close();
    raw.close();
  }

  private void putRecord(int index, RecordSource source) throws IOException {
    int stored = -1;
    byte[] value = source.value;
    if (value != null
        && source.kind != Tag.RANGE_DELETE
        && encoding.compresses(source.valueLength)) {
      ByteBuffer view = ByteBuffer.wrap(value, source.valueOffset, source.valueLength);
      stored = codec.compress(view, packed, packedWindow);
    }
    sink.begin();
    int storedKeyLength = putHeaderAndKey(sink, source, stored);
    if (stored >= 0) {
      sink.put(packed.region(), 0, stored);
    } else if (value != null) {
      sink.put(value, source.valueOffset, source.valueLength);
    }
    endRecord(index, source.kind, storedKeyLength, source.valueLength, stored);
  }

  private void endRecord(int index, int kind, int storedKeyLength, int valueLength, int stored)
      throws IOException {
    int at = index * FIELDS;
    records[at + CRC] = sink.end(0);
    records[at + KIND] = stored >= 0 ? kind | LogFormat.LZ4 : kind;
    records[at + KEY_LENGTH] = storedKeyLength;
    records[at + VALUE_LENGTH] = valueLength;
    records[at + STORED_LENGTH] = stored >= 0 ? stored : valueLength;
    long end = sink.length();
    records[at + END] = Math.toIntExact(end);
    bodyLength = end - LogFormat.FRAME_HEADER_BYTES;
    countIndexBytes(storedKeyLength, valueLength);
  }

  private static int storedKeyLength(RecordSource source) {
    return Keyspaces.prefixLength(source.keyspace) + source.keyLength;
  }

  /** Returns the length of the stored key. */
  private static int putHeaderAndKey(RecordSink target, RecordSource source, int stored)
      throws IOException {
    int storedKeyLength =
        putHeader(
            target,
            source.kind,
            source.keyspace,
            source.keyLength,
            source.valueLength,
            stored,
            source.expiresAtMillis);
    target.put(source.key, source.keyOffset, source.keyLength);
    return storedKeyLength;
  }

  /** With the keyspace prefix. Returns the length of the stored key. */
  private static int putHeader(
      RecordSink target,
      int kind,
      int keyspace,
      int keyLength,
      int valueLength,
      int stored,
      long expiresAtMillis)
      throws IOException {
    int prefixLength = Keyspaces.prefixLength(keyspace);
    int storedKeyLength = prefixLength + keyLength;
    target.putHeader(kind, storedKeyLength, valueLength, stored, expiresAtMillis);
    if (prefixLength == 1) {
      target.putByte(keyspace);
    } else {
      target.putByte(Keyspaces.LONG_FORM);
      for (int shift = 24; shift >= 0; shift -= 8) {
        target.putByte(keyspace >>> shift);
      }
    }
    return storedKeyLength;
  }

  private void putFrameHeader(Region region, LogPosition durable) {
    int place = LogFormat.place(segment, offset);
    LogFormat.putFrameHeader(
        region, place, bodyLength, recordCount, firstSequence, durable, window);
  }

  private void countIndexBytes(int storedKeyLength, int valueLength) {
    int inline = valueLength <= encoding.inlineValueBytesMax ? valueLength : 0;
    indexBytes += storedKeyLength + Payload.EXPIRY_BYTES + Math.max(inline, ValuePointer.BYTES_MAX);
  }

  private boolean compressesStreamed(RecordSource source) {
    return source.kind != Tag.RANGE_DELETE
        && source.valueLength >= STREAMED_COMPRESSION_BYTES_MIN
        && encoding.compresses(source.valueLength);
  }

  /** Compressed values stay on the heap until the write. */
  private void measure(RecordSource source) {
    long total = 0;
    while (source.next()) {
      int stored = -1;
      byte[] value = source.value;
      if (value != null && compressesStreamed(source)) {
        byte[] block = streamedCodec.compress(value, source.valueOffset, source.valueLength);
        packedValues.add(block == null ? NOT_PACKED : block);
        stored = block == null ? -1 : block.length;
      }
      total += recordLength(source, stored);
      countIndexBytes(storedKeyLength(source), source.valueLength);
    }
    bodyLength = total;
  }

  private static long recordLength(RecordSource source, int stored) {
    int storedKey = storedKeyLength(source);
    long length = 1L + Varint.length(storedKey);
    if (source.kind != Tag.DELETE) {
      int kept = stored >= 0 ? stored : source.valueLength;
      length += Varint.length(kept) + kept;
      length += stored >= 0 ? Varint.length(source.valueLength) : 0;
    }
    length += Tag.expires(source.kind) ? 8 : 0;
    return length + storedKey + LogFormat.CRC_BYTES;
  }
}
