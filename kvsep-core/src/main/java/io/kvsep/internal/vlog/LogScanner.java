package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.file.NoSuchFileException;

/**
 * Reads a segment file as recovery finds it: frame by frame until one does not hold, and then on,
 * looking for frames that say how far the log had been synced. Owns the mapping it reads through.
 * Changes nothing. Not thread safe.
 */
public final class LogScanner implements AutoCloseable {
  private final long segment;
  private final String name;
  private final long fileLength;
  private final Region region;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();

  private long at;
  private long frameLength;
  private long firstSequence;
  private int recordCount;
  private LogPosition durableClaim = LogPosition.START;
  private int largestKeyspace;
  private int largestKeyspaceOfFrame;
  private boolean complete;
  private String expected = "a frame";
  private String found = "end of file";

  private LogScanner(long segment, String name, Region region, long from) {
    this.segment = segment;
    this.name = name;
    this.region = region;
    this.fileLength = region.length();
    this.at = from;
  }

  /**
   * Opens the segment at {@code from}, or behind its header when that is 0. A missing or headless
   * file is damage: the manifest names a segment only once its header is durable.
   */
  public static LogScanner open(Storage storage, StoreId storeId, long segment, long from) {
    String name = StoreFiles.segment(segment);
    Region region = null;
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < LogFormat.SEGMENT_HEADER_BYTES) {
        throw new CorruptionException(name, length, "a segment header", "end of file");
      }
      if (length > Integer.MAX_VALUE) {
        throw new CorruptionException(name, 0, "a file below 2 GiB", length + " bytes");
      }
      region = Region.ofMapping(file.map(length));
      LogFormat.checkHeader(region, length, name, storeId, segment, new NativeWindow());
      if (from > length) {
        throw new CorruptionException(
            name, length, from + " bytes that were synced", "end of file");
      }
      LogScanner scanner =
          new LogScanner(segment, name, region, Math.max(from, LogFormat.SEGMENT_HEADER_BYTES));
      region = null;
      return scanner;
    } catch (NoSuchFileException e) {
      throw new CorruptionException(name, 0, "a segment the manifest names", "no such file");
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    } finally {
      if (region != null) {
        region.free();
      }
    }
  }

  /**
   * Whether anything was written into a segment, as far as that can still be seen: the header of
   * one frame is enough, wherever it stands, since what is in front of it may be damaged. Files of
   * another kind or another store have none.
   */
  static boolean holdsFrame(Storage storage, StoreId storeId, long segment) {
    String name = StoreFiles.segment(segment);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < LogFormat.FRAME_HEADER_BYTES || length > Integer.MAX_VALUE) {
        return false;
      }
      try (LogScanner scanner =
          new LogScanner(segment, name, Region.ofMapping(file.map(length)), 0)) {
        return scanner.mayBeOf(storeId) && scanner.nextHeader(0) >= 0;
      }
    } catch (NoSuchFileException e) {
      return false;
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }

  /** Whether the file's header, if it is not damaged, is that of a segment of this store. */
  private boolean mayBeOf(StoreId storeId) {
    if (LogFileHeader.isRelocated(region)) {
      // It has no frames, and need not be searched for any.
      return false;
    }
    if (fileLength < LogFormat.SEGMENT_HEADER_BYTES
        || region.getLong(0) != LogFormat.SEGMENT.magicNumber()) {
      return true;
    }
    try {
      LogFormat.checkHeader(region, fileLength, name, storeId, segment, window);
      return true;
    } catch (CorruptionException e) {
      return true;
    } catch (IncompatibleFormatException e) {
      return false;
    }
  }

  /**
   * To the next frame. Where {@link #isComplete} holds afterwards, there was none but the end.
   *
   * @param leastSequence sequence numbers below it belong to a write that was given up: the frame
   *     does not hold
   * @return whether a whole, sound frame stands here
   */
  public boolean next(long leastSequence) {
    at += frameLength;
    frameLength = 0;
    if (!holdsHeader(at) || !holdsRecords(leastSequence)) {
      // Of a page that was not read, nothing holds; what is behind it may be cut off for that.
      Region.requirePagesRead();
      return false;
    }
    durableClaim = later(durableClaim, claim(at));
    if (recordCount == 0) {
      complete = true;
      return false;
    }
    largestKeyspace = Math.max(largestKeyspace, largestKeyspaceOfFrame);
    return true;
  }

  /** Whether the segment's end was reached: the log goes on in the next one. */
  public boolean isComplete() {
    return complete;
  }

  /** Lets {@code entries} walk the current frame. */
  public void readInto(FrameEntryReader entries) {
    entries.start(region, at, frameLength, segment, at, firstSequence);
  }

  /** Offset of the current frame; where the log stops to hold once {@link #next} was false. */
  public long offset() {
    return at;
  }

  /** Offset behind the current frame, or behind the end once {@link #isComplete}. */
  public long endOffset() {
    return at + frameLength;
  }

  public long fileLength() {
    return fileLength;
  }

  /**
   * Length of the file without zeros at its end, as far as they lie behind {@link #endOffset}:
   * there the log may have been given room, and nothing was ever written. Looks at each of them.
   */
  public long lengthWithoutRoom() {
    long least = endOffset();
    long length = fileLength;
    while (length - Long.BYTES >= least && region.getLong(length - Long.BYTES) == 0) {
      length -= Long.BYTES;
    }
    while (length > least && region.getByte(length - 1) == 0) {
      length--;
    }
    Region.requirePagesRead();
    return length;
  }

  public long firstSequence() {
    return firstSequence;
  }

  /** Sequence number behind the current frame's last. */
  public long endSequence() {
    return firstSequence + recordCount;
  }

  /** The furthest position that a frame read so far calls durable. */
  public LogPosition durableClaim() {
    return durableClaim;
  }

  /** The largest id of a keyspace that a frame read so far writes into. */
  public int largestKeyspace() {
    return largestKeyspace;
  }

  /** What the place where {@link #next} stopped should hold, and what it does. */
  public CorruptionException damage() {
    return new CorruptionException(name, at, expected, found);
  }

  /**
   * Looks through everything from the current place on for sound frame headers, and returns the
   * furthest position that is durable by what one of them says: by its claim, or because a table
   * has a part of its frame.
   *
   * @param leastSequence headers with lower sequence numbers do not count
   * @param sequenceInTables the highest number of an entry in a table. What has it or a lower one
   *     was synced before the table came into force
   */
  public LogPosition claimsFrom(long leastSequence, long sequenceInTables) {
    LogPosition furthest = LogPosition.START;
    for (long offset = nextHeader(at); offset >= 0; offset = nextHeader(offset + 1)) {
      long sequence = region.getLong(offset + LogFormat.FIRST_SEQUENCE_AT);
      if (sequence >= leastSequence) {
        furthest = later(furthest, sequence <= sequenceInTables ? behind(offset) : claim(offset));
      }
    }
    return furthest;
  }

  private LogPosition behind(long header) {
    return new LogPosition(segment, header + LogFormat.FRAME_HEADER_BYTES);
  }

  /** Where the next sound header of a frame stands, from {@code from} on; -1 when none does. */
  private long nextHeader(long from) {
    for (long offset = from; offset <= fileLength - LogFormat.FRAME_HEADER_BYTES; offset++) {
      if (region.getInt(offset + LogFormat.FRAME_MAGIC_AT) == LogFormat.FRAME_MAGIC
          && headerCrcHolds(offset)) {
        return offset;
      }
    }
    Region.requirePagesRead();
    return -1;
  }

  @Override
  public void close() {
    region.free();
  }

  private boolean holdsHeader(long offset) {
    if (fileLength - offset < LogFormat.FRAME_HEADER_BYTES) {
      expected = "a frame header";
      found = "end of file";
      return false;
    }
    if (region.getInt(offset + LogFormat.FRAME_MAGIC_AT) != LogFormat.FRAME_MAGIC) {
      expected = "a frame header";
      found = "other bytes";
      return false;
    }
    if (!headerCrcHolds(offset)) {
      expected = "a frame header";
      found = "one whose checksum does not hold";
      return false;
    }
    return true;
  }

  private boolean headerCrcHolds(long offset) {
    int crc = window.crc32c(region, offset + 4, LogFormat.FRAME_HEADER_BYTES - 4);
    return region.getInt(offset) == (crc ^ LogFormat.place(segment, offset));
  }

  private boolean holdsRecords(long leastSequence) {
    long bodyLength = region.getInt(at + LogFormat.BODY_LENGTH_AT) & 0xffffffffL;
    recordCount = region.getInt(at + LogFormat.RECORD_COUNT_AT);
    firstSequence = region.getLong(at + LogFormat.FIRST_SEQUENCE_AT);
    if (firstSequence > Limits.SEQUENCE_MAX - Math.max(0, recordCount)) {
      expected = "sequence numbers up to " + Limits.SEQUENCE_MAX;
      found = "sequence " + firstSequence;
      return false;
    }
    if (firstSequence < leastSequence) {
      expected = "sequence " + leastSequence + " or later";
      found = "sequence " + firstSequence;
      return false;
    }
    long bodyStart = at + LogFormat.FRAME_HEADER_BYTES;
    if (bodyLength > fileLength - bodyStart) {
      expected = "a frame body of " + bodyLength + " bytes";
      found = "end of file after " + (fileLength - bodyStart);
      return false;
    }
    long limit = bodyStart + bodyLength;
    long offset = bodyStart;
    int count = 0;
    largestKeyspaceOfFrame = 0;
    while (offset < limit) {
      if (!record.decode(region, offset, limit) || !recordCrcHolds()) {
        expected = "record " + count + " of the frame";
        found = "damaged bytes at offset " + offset;
        return false;
      }
      largestKeyspaceOfFrame = Math.max(largestKeyspaceOfFrame, record.keyspace(region));
      offset += record.length();
      count++;
    }
    if (count != recordCount) {
      expected = recordCount + " records";
      found = count + " records";
      return false;
    }
    frameLength = LogFormat.FRAME_HEADER_BYTES + bodyLength;
    return true;
  }

  private boolean recordCrcHolds() {
    long start = record.start();
    int crc = window.crc32c(region, start, record.length() - LogFormat.CRC_BYTES);
    return region.getInt(record.crcOffset()) == (crc ^ LogFormat.place(segment, start));
  }

  /**
   * The position the frame header at {@code offset} calls durable, made whole from its low halves.
   */
  private LogPosition claim(long offset) {
    long low = region.getInt(offset + LogFormat.DURABLE_SEGMENT_AT) & 0xffffffffL;
    long behind = segment - low & 0xffffffffL;
    return new LogPosition(
        segment - behind, region.getInt(offset + LogFormat.DURABLE_OFFSET_AT) & 0xffffffffL);
  }

  private static LogPosition later(LogPosition a, LogPosition b) {
    return a.compareTo(b) >= 0 ? a : b;
  }
}
