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
import java.util.Collection;
import org.jspecify.annotations.Nullable;

/**
 * Reads a segment during recovery: frame by frame up to the first invalid one, then the rest for
 * frame headers that show how far the log was synced. Owns its mapping. Not thread safe.
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
   * Starts at {@code from}, or after the header if 0. A missing file or header is corruption: the
   * manifest names a segment only once its header is durable.
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
   * Finds a segment whose edit a manifest has lost. An unknown file proves nothing: files of all
   * kinds are complete before their edit. A frame does: it is written only once the segment's edit
   * is durable.
   *
   * @param idLimit above every segment id in the manifest
   * @return the name of such a segment, or null
   */
  public static @Nullable String unknownWithFrames(
      Storage storage, Collection<String> names, StoreId storeId, long idLimit) {
    for (String name : names) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
          && StoreFiles.numberOf(name) >= idLimit
          && holdsFrame(storage, storeId, StoreFiles.numberOf(name))) {
        return name;
      }
    }
    return null;
  }

  /**
   * Looks for a frame header at any offset, since the bytes before it may be damaged. False for
   * files of another kind or store.
   */
  private static boolean holdsFrame(Storage storage, StoreId storeId, long segment) {
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

  /** Returns false only if an intact header shows another kind of file or another store. */
  private boolean mayBeOf(StoreId storeId) {
    if (BlobFileAudit.isBlobFile(region)) {
      // Blob files have no frames.
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
   * Advances to the next frame. Returns false if that is invalid, or at the segment end, where
   * {@link #isComplete} is true.
   *
   * @param leastSequence a frame with a lower sequence number belongs to an abandoned write and is
   *     invalid
   */
  public boolean next(long leastSequence) {
    at += frameLength;
    frameLength = 0;
    if (!holdsHeader(at) || !holdsRecords(leastSequence)) {
      // Bytes of an unreadable page look invalid, and the log may be truncated there.
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

  public boolean isComplete() {
    return complete;
  }

  public void readInto(FrameEntryReader entries) {
    entries.start(null, region, at, frameLength, segment, at, firstSequence);
  }

  /**
   * Offset of the current frame, or of the first invalid byte once {@link #next} returned false.
   */
  public long offset() {
    return at;
  }

  /** Offset after the current frame, or after the segment end once {@link #isComplete}. */
  public long endOffset() {
    return at + frameLength;
  }

  public long fileLength() {
    return fileLength;
  }

  public long firstSequence() {
    return firstSequence;
  }

  public long endSequence() {
    return firstSequence + recordCount;
  }

  public LogPosition durableClaim() {
    return durableClaim;
  }

  public int largestKeyspace() {
    return largestKeyspace;
  }

  public CorruptionException damage() {
    return new CorruptionException(name, at, expected, found);
  }

  /**
   * Searches the rest of the file for frame headers; returns the highest position that they prove
   * durable: by their claim, or because a table has entries of the frame.
   *
   * @param leastSequence headers with lower numbers are ignored
   * @param sequenceInTables the log was synced up to it before its table was installed
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

  /** Returns -1 if none. */
  private long nextHeader(long from) {
    for (long offset = from; offset <= fileLength - LogFormat.FRAME_HEADER_BYTES; offset++) {
      if (region.getInt(offset + LogFormat.FRAME_MAGIC_AT) == LogFormat.FRAME_MAGIC
          && LogFormat.frameCrcHolds(region, offset, segment, window)) {
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
    if (!LogFormat.frameCrcHolds(region, offset, segment, window)) {
      expected = "a frame header";
      found = "one whose checksum does not hold";
      return false;
    }
    return true;
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
      if (!record.decode(region, offset, limit) || !record.crcHolds(region, segment, window)) {
        expected = "record " + count + " of the frame";
        found = "damaged bytes at offset " + offset;
        return false;
      }
      largestKeyspaceOfFrame = Math.max(largestKeyspaceOfFrame, record.keyspace(region));
      offset += record.length;
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
