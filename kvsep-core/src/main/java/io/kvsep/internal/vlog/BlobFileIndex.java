package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.util.Arrays;

/**
 * Maps offsets in old segments to offsets in one blob file. The directory is on the heap;
 * relocations are searched in the mapping, whose lifetime bounds that of the index. Immutable.
 */
final class BlobFileIndex {
  private static final int PIECE_BYTES = 64 << 10;

  /** Interpolation finds evenly spread offsets in two or three steps; bisection bounds the rest. */
  private static final int INTERPOLATIONS_MAX = 4;

  private static final int PAGE_BYTES = 4 << 10;

  private final Region mapping;

  private final long[] segments;

  /** File offset of each old segment's relocations, then the end of the last ones. */
  private final long[] starts;

  /** Lowest and highest old offset of each old segment, where a search begins. */
  private final long[] lowest;

  private final long[] highest;

  private BlobFileIndex(
      Region mapping, long[] segments, long[] starts, long[] lowest, long[] highest) {
    this.mapping = mapping;
    this.segments = segments;
    this.starts = starts;
    this.lowest = lowest;
    this.highest = highest;
  }

  /**
   * Checks everything except the records. Positional reads avoid page faults with read-ahead on a
   * cold file, and load the relocations for later lookups.
   *
   * @param mapping the whole file
   */
  static BlobFileIndex read(
      StorageFile file, Region mapping, StoreId storeId, long id, MemoryLedger ledger)
      throws IOException {
    Region buffer = ledger.allocate(MemoryPurpose.READ, PIECE_BYTES);
    try {
      return new Reading(file, mapping.length(), buffer).read(mapping, storeId, id);
    } finally {
      buffer.free();
    }
  }

  long recordBytes() {
    return starts[0] - LogFormat.SEGMENT_HEADER_BYTES;
  }

  /** Ignores the header, which may be damaged: the checksum of each record identifies its file. */
  static BlobFileIndex readHeadless(StorageFile file, Region mapping, MemoryLedger ledger)
      throws IOException {
    Region buffer = ledger.allocate(MemoryPurpose.READ, PIECE_BYTES);
    try {
      return new Reading(file, mapping.length(), buffer).read(mapping);
    } finally {
      buffer.free();
    }
  }

  /** Ascending. Must not be modified. */
  long[] oldSegments() {
    return segments;
  }

  long firstOf(int n) {
    return (starts[n] - starts[0]) / BlobFileFormat.RELOCATION_BYTES;
  }

  /** Offset in this file of the record at {@code offset} of the segment, or -1. */
  long find(long segment, long offset, ColdReadPolicy cold) {
    int index = Arrays.binarySearch(segments, segment);
    if (index < 0) {
      return -1;
    }
    long start = starts[index];
    long low = 0;
    long high = (starts[index + 1] - start) / BlobFileFormat.RELOCATION_BYTES - 1;
    long least = lowest[index];
    long most = highest[index];
    // The later probes of a search are near each other: few pages have to be asked for.
    long loadedFrom = 0;
    long loadedTo = 0;
    // Entries low to high are within least to most. In an unsorted table the search misses, but
    // stays in bounds and terminates.
    for (int step = 0; low <= high && offset >= least && offset <= most; step++) {
      long probe =
          step < INTERPOLATIONS_MAX && most > least
              ? low + (offset - least) * (high - low) / (most - least)
              : (low + high) >>> 1;
      long at = start + probe * BlobFileFormat.RELOCATION_BYTES;
      long end = at + BlobFileFormat.RELOCATION_BYTES;
      if (at < loadedFrom || end > loadedTo) {
        cold.load(mapping, at, BlobFileFormat.RELOCATION_BYTES);
        loadedFrom = at & -PAGE_BYTES;
        loadedTo = (end + PAGE_BYTES - 1) & -PAGE_BYTES;
      }
      long found = mapping.getInt(at) & 0xffffffffL;
      if (found == offset) {
        return mapping.getInt(at + 4) & 0xffffffffL;
      }
      if (found < offset) {
        low = probe + 1;
        least = found + 1;
      } else {
        high = probe - 1;
        most = found - 1;
      }
    }
    return -1;
  }

  long recordsEnd() {
    return starts[0];
  }

  long count() {
    return (starts[segments.length] - starts[0]) / BlobFileFormat.RELOCATION_BYTES;
  }

  long place(long index) {
    return starts[0] + index * BlobFileFormat.RELOCATION_BYTES;
  }

  boolean isFirst(long index) {
    return Arrays.binarySearch(starts, place(index)) >= 0;
  }

  long oldOffset(long index) {
    return mapping.getInt(place(index)) & 0xffffffffL;
  }

  long newOffset(long index) {
    return mapping.getInt(place(index) + 4) & 0xffffffffL;
  }

  /** Lowest relocation target from {@code least} on, or {@code end}. */
  long nextFrom(long least, long end) {
    long next = end;
    for (long i = 0; i < count(); i++) {
      long offset = newOffset(i);
      next = offset >= least && offset < next ? offset : next;
    }
    return next;
  }

  private static final class Reading {
    private final StorageFile file;
    private final String name;
    private final long length;
    private final Region buffer;
    private final NativeWindow window = new NativeWindow();

    Reading(StorageFile file, long length, Region buffer) {
      this.file = file;
      this.name = file.name();
      this.length = length;
      this.buffer = buffer;
    }

    BlobFileIndex read(Region mapping, StoreId storeId, long id) throws IOException {
      long least = LogFormat.SEGMENT_HEADER_BYTES + BlobFileFormat.FOOTER_BYTES;
      if (length < least) {
        throw new CorruptionException(name, length, least + " bytes", "end of file");
      }
      fill(0, LogFormat.SEGMENT_HEADER_BYTES);
      FileHeader.read(buffer, length, BlobFileFormat.KIND, name, window)
          .require(storeId, id, BlobFileFormat.KIND, name);
      return read(mapping);
    }

    BlobFileIndex read(Region mapping) throws IOException {
      if (length < LogFormat.SEGMENT_HEADER_BYTES + BlobFileFormat.FOOTER_BYTES) {
        throw new CorruptionException(name, length, "a footer", "end of file");
      }
      long footer = length - BlobFileFormat.FOOTER_BYTES;
      fill(footer, BlobFileFormat.FOOTER_BYTES);
      checkFooter(footer);
      long recordsEnd = buffer.getLong(BlobFileFormat.RECORDS_END_AT);
      long relocationsEnd = buffer.getLong(BlobFileFormat.RELOCATIONS_END_AT);
      int crc = buffer.getInt(BlobFileFormat.TABLES_CRC_AT);
      checkBounds(footer, recordsEnd, relocationsEnd);
      window.crc32cReset();
      int found = crcMore(0, recordsEnd, relocationsEnd);
      long[] segments =
          new long[(int) (footer - relocationsEnd) / BlobFileFormat.DIRECTORY_ENTRY_BYTES];
      long[] starts = new long[segments.length + 1];
      starts[0] = recordsEnd;
      found = readDirectory(found, relocationsEnd, segments, starts);
      if (found != crc) {
        throw new CorruptionException(
            name, recordsEnd, "relocations with " + LogFormat.hex(found), LogFormat.hex(crc));
      }
      checkDirectory(relocationsEnd, segments, starts);
      long[] lowest = new long[segments.length];
      long[] highest = new long[segments.length];
      for (int i = 0; i < segments.length; i++) {
        lowest[i] = oldOffset(starts[i]);
        highest[i] = oldOffset(starts[i + 1] - BlobFileFormat.RELOCATION_BYTES);
      }
      return new BlobFileIndex(mapping, segments, starts, lowest, highest);
    }

    private long oldOffset(long at) throws IOException {
      fill(at, BlobFileFormat.RELOCATION_BYTES);
      return unsigned(0);
    }

    private void checkFooter(long footer) {
      if (buffer.getLong(0) != BlobFileFormat.FOOTER_MAGIC) {
        throw new CorruptionException(name, footer, "a footer", "other bytes");
      }
      int crc = window.crc32c(buffer, 0, BlobFileFormat.FOOTER_CRC_AT);
      int found = buffer.getInt(BlobFileFormat.FOOTER_CRC_AT);
      if (found != crc) {
        throw new CorruptionException(
            name, footer + BlobFileFormat.FOOTER_CRC_AT, LogFormat.hex(crc), LogFormat.hex(found));
      }
    }

    private void checkBounds(long footer, long recordsEnd, long relocationsEnd) {
      if (recordsEnd < LogFormat.SEGMENT_HEADER_BYTES
          || recordsEnd > footer
          || unsigned(BlobFileFormat.RECORD_COUNT_AT) * BlobFileFormat.RELOCATION_BYTES
              != relocationsEnd - recordsEnd) {
        throw new CorruptionException(
            name,
            footer + BlobFileFormat.RECORDS_END_AT,
            unsigned(BlobFileFormat.RECORD_COUNT_AT) + " relocations before " + footer,
            "relocations from " + recordsEnd + " to " + relocationsEnd);
      }
      if (relocationsEnd > footer
          || unsigned(BlobFileFormat.SEGMENT_COUNT_AT) * BlobFileFormat.DIRECTORY_ENTRY_BYTES
              != footer - relocationsEnd) {
        throw new CorruptionException(
            name,
            footer + BlobFileFormat.RELOCATIONS_END_AT,
            unsigned(BlobFileFormat.SEGMENT_COUNT_AT) + " segments before " + footer,
            "a directory from " + relocationsEnd);
      }
    }

    private long unsigned(int footerAt) {
      return buffer.getInt(footerAt) & 0xffffffffL;
    }

    private int crcMore(int before, long from, long to) throws IOException {
      int crc = before;
      for (long at = from; at < to; at += PIECE_BYTES) {
        int count = (int) Math.min(PIECE_BYTES, to - at);
        fill(at, count);
        crc = window.crc32cMore(buffer, 0, count);
      }
      return crc;
    }

    /** Returns the updated checksum. */
    private int readDirectory(int before, long from, long[] segments, long[] starts)
        throws IOException {
      int entriesMax = PIECE_BYTES / BlobFileFormat.DIRECTORY_ENTRY_BYTES;
      int crc = before;
      for (int first = 0; first < segments.length; first += entriesMax) {
        int entries = Math.min(entriesMax, segments.length - first);
        int bytes = entries * BlobFileFormat.DIRECTORY_ENTRY_BYTES;
        fill(from + (long) first * BlobFileFormat.DIRECTORY_ENTRY_BYTES, bytes);
        crc = window.crc32cMore(buffer, 0, bytes);
        for (int i = 0; i < entries; i++) {
          int at = i * BlobFileFormat.DIRECTORY_ENTRY_BYTES;
          segments[first + i] = buffer.getLong(at);
          long count = buffer.getInt(at + 8) & 0xffffffffL;
          starts[first + i + 1] = starts[first + i] + count * BlobFileFormat.RELOCATION_BYTES;
        }
      }
      return crc;
    }

    private void checkDirectory(long relocationsEnd, long[] segments, long[] starts) {
      for (int i = 0; i < segments.length; i++) {
        boolean ascends = segments[i] > (i == 0 ? 0 : segments[i - 1]);
        if (!ascends || starts[i + 1] == starts[i]) {
          throw new CorruptionException(
              name,
              relocationsEnd + (long) i * BlobFileFormat.DIRECTORY_ENTRY_BYTES,
              "ascending segments with relocations",
              "segment " + segments[i]);
        }
      }
      if (starts[segments.length] != relocationsEnd) {
        throw new CorruptionException(
            name,
            relocationsEnd,
            "relocations to " + relocationsEnd,
            "relocations to " + starts[segments.length]);
      }
    }

    private void fill(long offset, int count) throws IOException {
      int found = file.read(window.over(buffer, 0, count), offset);
      if (found < count) {
        throw new CorruptionException(
            name, offset + found, count + " bytes from " + offset, "end of file");
      }
    }
  }
}
