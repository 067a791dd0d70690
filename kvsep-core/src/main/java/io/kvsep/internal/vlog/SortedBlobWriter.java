package io.kvsep.internal.vlog;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * Writes values that were never in the log into one new file, in the order in which they are added.
 * It is a relocated file to which nothing was relocated: see {@link BlobFileFormat}. Owns the file
 * from the constructor to {@link #close}, which deletes it unless {@link #finish} has returned.
 *
 * <p>Holds a buffer of 256 KiB off-heap. Not thread safe. After any failure only {@link #close} is
 * left.
 */
public final class SortedBlobWriter implements AutoCloseable {
  /** No file gets longer: it has to be mapped as a whole. */
  public static final long FILE_BYTES_MAX = BlobFileFormat.FILE_BYTES_MAX;

  private static final int BUFFER_BYTES = 256 << 10;

  private final long fileId;
  private final Frame.Encoding encoding;
  private final NewLogFile file;
  private final GrowingRegion memory;
  private final GrowingRegion packed;
  private final RecordSink sink;
  private final CompressionTrials trials = new CompressionTrials();
  private final NativeWindow window = new NativeWindow();
  private final NativeWindow packedWindow = new NativeWindow();
  private long offset;
  private int recordLength;

  /** Makes the file. */
  public SortedBlobWriter(
      Storage storage, StoreId storeId, long fileId, MemoryLedger ledger, Frame.Encoding encoding)
      throws IOException {
    this.fileId = fileId;
    this.encoding = encoding;
    this.file = new NewLogFile(storage, fileId);
    this.memory = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
    this.packed = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
    this.sink = new RecordSink(memory);
    boolean made = false;
    try {
      sink.toFile(file.file(), 0, BUFFER_BYTES);
      Region header = sink.reserve(LogFormat.SEGMENT_HEADER_BYTES);
      new FileHeader(storeId, fileId).put(header, BlobFileFormat.KIND, window);
      sink.advance(LogFormat.SEGMENT_HEADER_BYTES);
      made = true;
    } finally {
      if (!made) {
        close();
      }
    }
  }

  /** Most bytes the file may have once a record with such lengths is added and it ends. */
  public long bytesWith(int keyLength, int valueLength) {
    return bytes() + Frame.recordLengthMax(keyLength, valueLength);
  }

  /** Length the file would have if it ended here. */
  public long bytes() {
    return BlobFileFormat.fileBytes(sink.filePosition(), 0, 0);
  }

  /**
   * Adds a record of a stored key, with a value in memory.
   *
   * @param expiresAtMillis {@link Payload#NEVER} where it does not expire
   */
  public void add(
      Region key,
      long keyOffset,
      int keyLength,
      long expiresAtMillis,
      Region value,
      long valueOffset,
      int valueLength)
      throws IOException {
    file.requireUsable();
    int stored = -1;
    if (encoding.compresses(valueLength)) {
      ByteBuffer view = window.over(value, valueOffset, valueLength);
      stored = trials.compress(view, packed, packedWindow);
    }
    begin(key, keyOffset, keyLength, expiresAtMillis, valueLength, stored);
    if (stored >= 0) {
      sink.put(packed.region(), 0, stored);
    } else {
      sink.put(value, valueOffset, valueLength);
    }
    end();
  }

  /** As above, with a value of any length on the heap. */
  public void add(Region key, long keyOffset, int keyLength, long expiresAtMillis, byte[] value)
      throws IOException {
    file.requireUsable();
    byte[] bytes = value;
    int stored = -1;
    if (encoding.compresses(value.length) && trials.isDue()) {
      byte[] target = new byte[ValueCodec.worthwhileLength(value.length)];
      stored = ValueCodec.compress(ByteBuffer.wrap(value), target);
      trials.tried(stored >= 0);
      bytes = stored < 0 ? value : target;
    }
    begin(key, keyOffset, keyLength, expiresAtMillis, value.length, stored);
    sink.put(bytes, 0, stored < 0 ? value.length : stored);
    end();
  }

  /** Id of the file, as pointers name it. */
  public long fileId() {
    return fileId;
  }

  /** Where the record added last lies. */
  public long offset() {
    return offset;
  }

  /** Bytes of the record added last. */
  public int recordLength() {
    return recordLength;
  }

  /**
   * Completes the file. Contents and name are the caller's to make durable.
   *
   * @return length of the file
   */
  public long finish() throws IOException {
    file.begin();
    sink.flush();
    long recordsEnd = sink.filePosition();
    Region footer = sink.reserve(BlobFileFormat.FOOTER_BYTES);
    // The checksum of no bytes is 0.
    BlobFileFormat.putFooter(footer, recordsEnd, recordsEnd, 0, 0, 0, window);
    sink.advance(BlobFileFormat.FOOTER_BYTES);
    sink.flush();
    file.finish();
    return sink.filePosition();
  }

  /** Frees the memory and closes the file; deletes it when it is not finished. */
  @Override
  public void close() {
    memory.close();
    packed.close();
    file.close();
  }

  private void begin(
      Region key, long keyOffset, int keyLength, long expiresAtMillis, int valueLength, int stored)
      throws IOException {
    file.begin();
    offset = sink.filePosition();
    sink.begin();
    int kind = expiresAtMillis == Payload.NEVER ? Tag.PUT : Tag.PUT | Tag.EXPIRES;
    sink.putHeader(kind, keyLength, valueLength, stored, expiresAtMillis);
    sink.put(key, keyOffset, keyLength);
  }

  private void end() throws IOException {
    sink.end(LogFormat.place(fileId, offset));
    recordLength = Math.toIntExact(sink.filePosition() - offset);
    file.end();
  }
}
