package io.kvsep.internal.vlog;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
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
 * Writes values that no segment holds any more, or never did, into a new blob file without
 * relocations, in the order of the calls. Owns the file until {@link #close}, which deletes it
 * unless {@link #finish} has returned.
 *
 * <p>Uses 256 KiB off-heap. Not thread safe. After a failure only {@link #close} may be called.
 */
public final class SortedBlobWriter implements AutoCloseable {
  public static final long FILE_BYTES_MAX = BlobFileFormat.FILE_BYTES_MAX;

  private static final int BUFFER_BYTES = 256 << 10;

  private final Storage storage;
  private final long fileId;
  private final Frame.Encoding encoding;
  private final NewBlobFile file;
  private final GrowingRegion memory;
  private final GrowingRegion packed;
  private final RecordSink sink;
  private final ValueCodec codec = new ValueCodec();
  private final NativeWindow window = new NativeWindow();
  private final NativeWindow packedWindow = new NativeWindow();
  private long offset;
  private int recordLength;

  public SortedBlobWriter(
      Storage storage, StoreId storeId, long fileId, MemoryLedger ledger, Frame.Encoding encoding)
      throws IOException {
    this.storage = storage;
    this.fileId = fileId;
    this.encoding = encoding;
    this.file = new NewBlobFile(storage, fileId);
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

  /** Upper bound of the finished file's length after one more record. */
  public long bytesWith(int keyLength, int valueLength) {
    return bytes() + Frame.recordLengthMax(keyLength, valueLength);
  }

  /** File length if finished now. */
  public long bytes() {
    return BlobFileFormat.fileBytes(sink.filePosition(), 0, 0);
  }

  /**
   * Adds a value; keys ascend.
   *
   * @param expiresAtMillis {@link Payload#NEVER} if it does not expire
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
      stored = codec.compress(view, packed, packedWindow);
    }
    begin(key, keyOffset, keyLength, expiresAtMillis, valueLength, stored);
    if (stored >= 0) {
      sink.put(packed.region(), 0, stored);
    } else {
      sink.put(value, valueOffset, valueLength);
    }
    end();
  }

  public void add(Region key, long keyOffset, int keyLength, long expiresAtMillis, byte[] value)
      throws IOException {
    file.requireUsable();
    byte[] block =
        encoding.compresses(value.length) ? codec.compress(value, 0, value.length) : null;
    int stored = block == null ? -1 : block.length;
    begin(key, keyOffset, keyLength, expiresAtMillis, value.length, stored);
    sink.put(block == null ? value : block, 0, block == null ? value.length : stored);
    end();
  }

  public long fileId() {
    return fileId;
  }

  /** Offset of the last record added. */
  public long offset() {
    return offset;
  }

  public int recordLength() {
    return recordLength;
  }

  /** Returns the length. The caller makes contents and name durable. */
  public long finish() throws IOException {
    writeFooter();
    file.finish();
    return sink.filePosition();
  }

  /** As {@link #finish}, with contents and name durable. */
  public long finishDurable() throws IOException {
    writeFooter();
    file.file().sync();
    storage.syncDirectory();
    file.finish();
    return sink.filePosition();
  }

  private void writeFooter() throws IOException {
    file.begin();
    sink.flush();
    long recordsEnd = sink.filePosition();
    Region footer = sink.reserve(BlobFileFormat.FOOTER_BYTES);
    // The checksum of no bytes is 0.
    BlobFileFormat.putFooter(footer, recordsEnd, recordsEnd, 0, 0, 0, window);
    sink.advance(BlobFileFormat.FOOTER_BYTES);
    sink.flush();
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    closes.run(file::close);
    closes.run(memory::close);
    closes.run(packed::close);
    closes.throwFirst();
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
