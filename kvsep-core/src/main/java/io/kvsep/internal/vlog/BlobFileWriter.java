package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.util.Map;

/**
 * Copies records from old segments into a new blob file, in the order of the calls. Owns the file
 * until {@link #close}, which deletes it unless {@link #finish} has returned.
 *
 * <p>A record's checksum is verified and adjusted to the new position, never recomputed: that of
 * the first write still protects the record.
 *
 * <p>Uses 512 KiB off-heap, and 8 bytes of heap per announced record. Not thread safe. After a
 * failure only {@link #close} may be called.
 */
public final class BlobFileWriter implements AutoCloseable {
  public static final long FILE_BYTES_MAX = BlobFileFormat.FILE_BYTES_MAX;

  /** Bytes per write and step of copying. */
  private static final int STEP_BYTES = Limits.PIECE_BYTES;

  /** Enough for the header and key of any record. */
  private static final int FIRST_STEP_BYTES = 128 << 10;

  private final Storage storage;
  private final long fileId;
  private final SegmentDirectory directory;
  private final BlobFileOffsets offsets;
  private final Region buffer;
  private final NewBlobFile file;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();
  private final RecordPlace place = new RecordPlace();

  /** Bytes in the file; the buffer follows them. */
  private long written;

  private int buffered;

  // Pointer to the last record added, and its offset in this file.
  private long lastSegment = -1;
  private long lastOffset = -1;
  private long lastTarget = -1;

  /**
   * @param recordsMax most records per old segment, by logical id
   */
  public BlobFileWriter(
      Storage storage,
      StoreId storeId,
      long fileId,
      MemoryLedger ledger,
      SegmentDirectory directory,
      Map<Long, Long> recordsMax)
      throws IOException {
    this.storage = storage;
    this.fileId = fileId;
    this.directory = directory;
    this.offsets = new BlobFileOffsets(recordsMax);
    this.buffer = ledger.allocateUncleared(MemoryPurpose.RECLAIM, 2L * STEP_BYTES);
    boolean made = false;
    try {
      this.file = new NewBlobFile(storage, fileId);
      made = true;
    } finally {
      if (!made) {
        buffer.free();
      }
    }
    new FileHeader(storeId, fileId).put(buffer, BlobFileFormat.KIND, window);
    buffered = LogFormat.SEGMENT_HEADER_BYTES;
  }

  public boolean isAnnounced(long segment) {
    return offsets.isAnnounced(segment);
  }

  /**
   * Copies the record that a pointer names, unless it equals the previous one. The caller is inside
   * an epoch.
   *
   * @return bytes of the record, 0 if it was skipped
   * @throws CorruptionException if the record or its relocation is invalid, or has another key
   * @throws StorageException if the record cannot be read
   * @throws InternalError if a mapped page cannot be read
   * @throws IOException if the record cannot be written
   * @throws IllegalArgumentException if the segment or so many of its records were not announced;
   *     nothing has changed
   * @throws IllegalStateException if the file would exceed {@link #FILE_BYTES_MAX}, and nothing has
   *     changed; or if the writer has failed or ended
   */
  public int add(Region pointer, long pointerOffset, Region key, long keyOffset, int keyLength)
      throws IOException {
    file.requireUsable();
    long segmentId = ValuePointer.segment(pointer, pointerOffset);
    long offset = ValuePointer.offset(pointer, pointerOffset);
    int length = ValuePointer.recordLength(pointer, pointerOffset);
    if (segmentId == lastSegment && offset == lastOffset) {
      return 0;
    }
    directory.require(segmentId, offset, place);
    Segment from = place.segment();
    long at = place.offset();
    if (at < 0 || offset > FILE_BYTES_MAX || length > from.publishedEnd() - at) {
      Region.requirePagesRead();
      throw new CorruptionException(
          from.name(), at, "a record of " + length + " bytes", "end of the segment");
    }
    if (length <= LogFormat.CRC_BYTES) {
      Region.requirePagesRead();
      throw new CorruptionException(from.name(), at, "a record", "one of " + length + " bytes");
    }
    requireRoom(length);
    long target = written + buffered;
    offsets.add(segmentId, offset, target);
    file.begin();
    copy(from, at, length, key, keyOffset, keyLength);
    lastSegment = segmentId;
    lastOffset = offset;
    lastTarget = target;
    file.end();
    return length;
  }

  public long fileId() {
    return fileId;
  }

  /** Offset of the last record added. */
  public long offset() {
    return lastTarget;
  }

  /** File length if finished now. */
  public long bytes() {
    return BlobFileFormat.fileBytes(written + buffered, offsets.count(), offsets.segmentCount());
  }

  public static long fileBytes(long recordBytes, long records, long segments) {
    return BlobFileFormat.fileBytes(
        LogFormat.SEGMENT_HEADER_BYTES + recordBytes, records, segments);
  }

  long recordCount() {
    return offsets.count();
  }

  /** Makes contents and name durable; returns the length. */
  public long finish() throws IOException {
    file.begin();
    long recordsEnd = written + buffered;
    flush();
    window.crc32cReset();
    offsets.sort();
    for (int i = 0; i < offsets.segmentCount(); i++) {
      writeRelocations(i);
    }
    long relocationsEnd = written + buffered;
    for (int i = 0; i < offsets.segmentCount(); i++) {
      int at = makeRoomInTables(BlobFileFormat.DIRECTORY_ENTRY_BYTES);
      buffer.putLong(at, offsets.segment(i));
      buffer.putInt(at + 8, offsets.count(i));
    }
    int crc = flushTables();
    writeFooter(recordsEnd, relocationsEnd, crc);
    flush();
    file.file().sync();
    storage.syncDirectory();
    file.finish();
    return written;
  }

  @Override
  public void close() {
    try {
      buffer.free();
    } finally {
      file.close();
    }
  }

  private void requireRoom(int length) {
    long bytes =
        BlobFileFormat.fileBytes(
            written + buffered + length, offsets.count() + 1, offsets.segmentCount() + 1L);
    if (bytes > FILE_BYTES_MAX) {
      throw new IllegalStateException(
          file.name() + " would get longer than " + FILE_BYTES_MAX + " bytes");
    }
  }

  /** Verifies the copy, not the source. */
  private void copy(Segment from, long at, int length, Region key, long keyOffset, int keyLength)
      throws IOException {
    long target = written + buffered;
    Region mapped = from.mapped(at + length, length);
    if (mapped != null) {
      directory.cold().load(mapped, at, length);
    }
    boolean ownKey = false;
    int crc = 0;
    window.crc32cReset();
    for (int done = 0; done < length; ) {
      int step = stepLength(length - done, done == 0 ? FIRST_STEP_BYTES : STEP_BYTES);
      if (buffered >= STEP_BYTES) {
        writePiece();
      }
      if (mapped != null) {
        buffer.put(buffered, mapped, at + done, step);
      } else {
        from.read(window.over(buffer, buffered, step), at + done);
      }
      if (done == 0) {
        ownKey = holdsKey(from, at, length, key, keyOffset, keyLength);
      }
      done += step;
      int summed = done == length ? step - LogFormat.CRC_BYTES : step;
      crc = window.crc32cMore(buffer, buffered, summed);
      buffered += step;
    }
    int crcAt = buffered - LogFormat.CRC_BYTES;
    int stored = buffer.getInt(crcAt);
    int placed = crc ^ LogFormat.place(from.id(), at);
    if (stored != placed) {
      // Bytes of an unreadable page look damaged.
      Region.requirePagesRead();
      throw new CorruptionException(
          from.name(), at, "a record with " + LogFormat.hex(placed), LogFormat.hex(stored));
    }
    if (!ownKey) {
      throw new CorruptionException(from.name(), at, "the key's own record", "another key");
    }
    buffer.putInt(crcAt, stored ^ LogFormat.place(from.id(), at) ^ LogFormat.place(fileId, target));
  }

  /** The trailing checksum is never split. */
  private static int stepLength(int rest, int most) {
    if (rest <= most) {
      return rest;
    }
    return rest - most < LogFormat.CRC_BYTES ? most - LogFormat.CRC_BYTES : most;
  }

  /** The buffer has at least the whole header and key. */
  private boolean holdsKey(
      Segment from, long at, int length, Region key, long keyOffset, int keyLength) {
    if (!record.decode(buffer, buffered, (long) buffered + length) || record.length != length) {
      Region.requirePagesRead();
      throw new CorruptionException(from.name(), at, "a record", "none");
    }
    return Region.compare(buffer, record.keyOffset, record.keyLength, key, keyOffset, keyLength)
        == 0;
  }

  /** Moves the rest of the buffer, at most a step, to the front. */
  private void writePiece() throws IOException {
    file.file().write(window.over(buffer, 0, STEP_BYTES), written);
    written += STEP_BYTES;
    buffered -= STEP_BYTES;
    if (buffered > 0) {
      buffer.put(0, buffer, STEP_BYTES, buffered);
    }
  }

  private void flush() throws IOException {
    if (buffered > 0) {
      file.file().write(window.over(buffer, 0, buffered), written);
      written += buffered;
      buffered = 0;
    }
  }

  private void writeRelocations(int index) throws IOException {
    for (int i = 0; i < offsets.count(index); i++) {
      int at = makeRoomInTables(BlobFileFormat.RELOCATION_BYTES);
      buffer.putInt(at, offsets.oldOffset(index, i));
      buffer.putInt(at + 4, offsets.newOffset(index, i));
    }
  }

  private int makeRoomInTables(int bytes) throws IOException {
    if (bytes > STEP_BYTES - buffered) {
      flushTables();
    }
    int at = buffered;
    buffered += bytes;
    return at;
  }

  private int flushTables() throws IOException {
    int crc = window.crc32cMore(buffer, 0, buffered);
    flush();
    return crc;
  }

  private void writeFooter(long recordsEnd, long relocationsEnd, int crc) {
    BlobFileFormat.putFooter(
        buffer,
        recordsEnd,
        relocationsEnd,
        offsets.segmentCount(),
        crc,
        (int) offsets.count(),
        window);
    buffered = BlobFileFormat.FOOTER_BYTES;
  }
}
