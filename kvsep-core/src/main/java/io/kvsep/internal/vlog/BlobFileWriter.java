package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
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
 * Copies records out of old segments into one new relocated file, in the order in which they are
 * added. Owns the file from the constructor to {@link #close}, which deletes it unless {@link
 * #finish} has returned.
 *
 * <p>A record's checksum is never computed anew: it is verified and then only told of the new
 * place, so that what was computed when the record was first written still protects it.
 *
 * <p>Records are written in pieces of a fixed length at multiples of it, so that where that is the
 * system's long page the file is kept and mapped by such pages: see docs/decisions/07.
 *
 * <p>Holds a buffer of a piece and 256 KiB off-heap, and on the heap eight bytes for each record
 * that may come. Not thread safe. After any failure only {@link #close} is left.
 */
public final class BlobFileWriter implements AutoCloseable {
  /** No file gets longer, and so no offset in it larger: it has to be mapped as a whole. */
  public static final long FILE_BYTES_MAX = BlobFileFormat.FILE_BYTES_MAX;

  /** Bytes that are copied and verified at once, at most. */
  private static final int STEP_BYTES = 256 << 10;

  /** Enough for the header and key of any record. */
  private static final int FIRST_STEP_BYTES = 128 << 10;

  private final Storage storage;
  private final long fileId;
  private final SegmentDirectory directory;
  private final BlobFileOffsets offsets;
  private final int pieceBytes;
  private final Region buffer;
  private final NewLogFile file;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();
  private final RecordPlace place = new RecordPlace();

  /** Bytes in the file; those in the buffer go behind them. */
  private long written;

  private int buffered;

  // The record added last: as its pointer names it, and where it is in this file.
  private long lastSegment = -1;
  private long lastOffset = -1;
  private long lastTarget = -1;

  /**
   * Makes the file.
   *
   * @param recordsMax how many records may come from each old segment, by its logical id
   * @param pieceBytes what is written at once, as long as there is as much; 256 KiB or more
   */
  public BlobFileWriter(
      Storage storage,
      StoreId storeId,
      long fileId,
      MemoryLedger ledger,
      SegmentDirectory directory,
      Map<Long, Long> recordsMax,
      int pieceBytes)
      throws IOException {
    this.storage = storage;
    this.fileId = fileId;
    this.directory = directory;
    if (pieceBytes < STEP_BYTES) {
      throw new IllegalArgumentException("pieces of " + pieceBytes + " bytes");
    }
    this.offsets = new BlobFileOffsets(recordsMax);
    this.pieceBytes = pieceBytes;
    this.buffer = ledger.allocateUncleared(MemoryPurpose.RECLAIM, (long) pieceBytes + STEP_BYTES);
    boolean made = false;
    try {
      this.file = new NewLogFile(storage, fileId);
      made = true;
    } finally {
      if (!made) {
        buffer.free();
      }
    }
    new FileHeader(storeId, fileId).put(buffer, BlobFileFormat.KIND, window);
    buffered = LogFormat.SEGMENT_HEADER_BYTES;
  }

  /** Whether records of the segment may come. */
  public boolean isAnnounced(long segment) {
    return offsets.isAnnounced(segment);
  }

  /**
   * Copies the record that a pointer names, from wherever it is now. A pointer that equals the one
   * before it is passed over. The caller is inside the epochs for the time of the call, in which
   * one record is read.
   *
   * @return bytes of the record, 0 when it was there already
   * @throws CorruptionException when the record, or what leads to it, does not hold, or is not one
   *     of this key
   * @throws StorageException when the device refused to read it
   * @throws InternalError when it did so in a mapping
   * @throws IOException when it could not be written
   * @throws IllegalArgumentException when the segment is none of those announced, or more of its
   *     records come than were announced; nothing has changed
   * @throws IllegalStateException when the file would get longer than {@link #FILE_BYTES_MAX}, and
   *     nothing has changed; or when the writer has failed or ended
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

  /** Id of the file. */
  public long fileId() {
    return fileId;
  }

  /** Where in the file the record added last is. */
  public long offset() {
    return lastTarget;
  }

  /** Length the file would have if it ended here. */
  public long bytes() {
    return BlobFileFormat.fileBytes(written + buffered, offsets.count(), offsets.segmentCount());
  }

  /** Length of a file with records of so many bytes from so many segments. */
  public static long fileBytes(long recordBytes, long records, long segments) {
    return BlobFileFormat.fileBytes(
        LogFormat.SEGMENT_HEADER_BYTES + recordBytes, records, segments);
  }

  /** Records copied. */
  public long recordCount() {
    return offsets.count();
  }

  /**
   * Completes the file and makes it durable, with its name.
   *
   * @return length of the file
   */
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

  /** Frees the memory and closes the file; deletes it when it is not finished. */
  @Override
  public void close() {
    buffer.free();
    file.close();
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

  /** Copies piece by piece and verifies what was copied rather than what lies in the source. */
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
      if (buffered >= pieceBytes) {
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
      // Bytes of a page that was not read look damaged.
      Region.requirePagesRead();
      throw new CorruptionException(
          from.name(), at, "a record with " + LogFormat.hex(placed), LogFormat.hex(stored));
    }
    if (!ownKey) {
      throw new CorruptionException(from.name(), at, "the key's own record", "another key");
    }
    buffer.putInt(crcAt, stored ^ LogFormat.place(from.id(), at) ^ LogFormat.place(fileId, target));
  }

  /** Bytes to copy at once: the checksum at the end is never cut in two. */
  private static int stepLength(int rest, int most) {
    if (rest <= most) {
      return rest;
    }
    return rest - most < LogFormat.CRC_BYTES ? most - LogFormat.CRC_BYTES : most;
  }

  /** Decodes the record that begins in the buffer; its header and key are there as a whole. */
  private boolean holdsKey(
      Segment from, long at, int length, Region key, long keyOffset, int keyLength) {
    if (!record.decode(buffer, buffered, (long) buffered + length) || record.length() != length) {
      Region.requirePagesRead();
      throw new CorruptionException(from.name(), at, "a record", "none");
    }
    return Region.compare(buffer, record.keyOffset(), record.keyLength(), key, keyOffset, keyLength)
        == 0;
  }

  /** Writes a whole piece; what is behind it, a step at most, comes to the front. */
  private void writePiece() throws IOException {
    file.file().write(window.over(buffer, 0, pieceBytes), written);
    written += pieceBytes;
    buffered -= pieceBytes;
    if (buffered > 0) {
      buffer.put(0, buffer, pieceBytes, buffered);
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

  /** Writes what is in the buffer and returns the checksum of all relocations with it. */
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
