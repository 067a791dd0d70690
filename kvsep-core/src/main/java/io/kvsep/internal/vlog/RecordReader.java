package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Reads single records of a damaged store through pointers. Needs only the record to be valid: its
 * checksum identifies file and offset. Keeps each file mapped from its first use. Not thread safe.
 */
public final class RecordReader implements AutoCloseable {
  private static final long ALL = -1;

  private final Storage storage;
  private final MemoryLedger ledger;
  private final NativeWindow window = new NativeWindow();
  private final RecordView record = new RecordView();

  private final Map<Long, Region> mapped = new HashMap<>();

  /** Ids that have a file. */
  private final Map<Long, Boolean> own = new HashMap<>();

  /** Blob files by old segment, oldest first. */
  private final TreeMap<Long, List<Home>> homes = new TreeMap<>();

  private record Home(long id, Region region, BlobFileIndex relocations) {
    long firstOf(long segment) {
      return relocations.firstOf(Arrays.binarySearch(relocations.oldSegments(), segment));
    }

    long endOf(long segment) {
      return relocations.firstOf(Arrays.binarySearch(relocations.oldSegments(), segment) + 1);
    }
  }

  public RecordReader(Storage storage, MemoryLedger ledger) {
    this.storage = storage;
    this.ledger = ledger;
  }

  public interface RelocatedSink {
    /**
     * Receives a record of a blob file.
     *
     * @param file id of the blob file
     * @param rank number of records of the old segment before it
     */
    void record(
        Region region, RecordView record, long oldSegment, long oldOffset, long file, long rank);
  }

  public void addSegment(long id) {
    own.put(id, true);
  }

  /**
   * Adds a blob file, in order of ascending id.
   *
   * @param length of the file according to the manifest; -1 for the whole file
   * @return the damage that makes its records unreachable, or null
   */
  public @Nullable CorruptionException addRelocated(long id, long length) {
    String name = StoreFiles.segment(id);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      Region region = mapped(id, length);
      BlobFileIndex relocations = BlobFileIndex.readHeadless(file, region, ledger);
      for (long segment : relocations.oldSegments()) {
        homes
            .computeIfAbsent(segment, old -> new ArrayList<>())
            .add(new Home(id, region, relocations));
      }
      own.put(id, true);
      return null;
    } catch (CorruptionException e) {
      return e;
    } catch (NoSuchFileException e) {
      return new CorruptionException(name, 0, "a file of relocated records", "no such file");
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }

  /** Segments with records in blob files but no file. */
  public List<Long> relocatedSegments() {
    List<Long> segments = new ArrayList<>(homes.keySet());
    segments.removeIf(own::containsKey);
    return segments;
  }

  /** Upper bound of the records of such a segment: some may be in two files. */
  public long relocatedCount(long segment) {
    long count = 0;
    for (Home home : homes.getOrDefault(segment, List.of())) {
      count += home.endOf(segment) - home.firstOf(segment);
    }
    return count;
  }

  /**
   * Passes the valid records of a relocated segment to the sink, by ascending old offset.
   *
   * @return whether the segment was part of the log: some gap before a record is exactly a frame
   *     header. Records in a blob file are adjacent; only a dead record of that length, with a
   *     value of some twenty bytes, could leave such a gap
   */
  public boolean relocated(long segment, RelocatedSink sink) {
    List<Home> all = homes.getOrDefault(segment, List.of());
    long[] next = all.stream().mapToLong(home -> home.firstOf(segment)).toArray();
    long end = LogFormat.SEGMENT_HEADER_BYTES;
    boolean framed = false;
    long rank = 0;
    for (long offset = least(all, segment, next); offset >= 0; rank++) {
      // All copies are equal; the newest file is kept longest.
      boolean found = false;
      for (int i = all.size() - 1; i >= 0; i--) {
        Home home = all.get(i);
        if (next[i] < home.endOf(segment) && home.relocations().oldOffset(next[i]) == offset) {
          long at = home.relocations().newOffset(next[i]++);
          found |= !found && isTaken(home, at, segment, offset, rank, sink);
        }
      }
      if (found) {
        framed |= offset == end + LogFormat.FRAME_HEADER_BYTES;
        end = offset + record.length;
      }
      offset = least(all, segment, next);
    }
    return framed;
  }

  private boolean isTaken(
      Home home, long at, long segment, long offset, long rank, RelocatedSink sink) {
    if (!holds(home.region(), home.id(), at, home.region().length())) {
      return false;
    }
    sink.record(home.region(), record, segment, offset, home.id(), rank);
    return true;
  }

  /** Lowest old offset not yet visited, or -1. */
  private static long least(List<Home> homes, long segment, long[] next) {
    long least = -1;
    for (int i = 0; i < next.length; i++) {
      Home home = homes.get(i);
      if (next[i] < home.endOf(segment)) {
        long offset = home.relocations().oldOffset(next[i]);
        least = least < 0 ? offset : Math.min(least, offset);
      }
    }
    return least;
  }

  /**
   * The value of a record, from any file that has it.
   *
   * @param key the expected stored key
   * @throws CorruptionException if the record is missing or invalid
   */
  public byte[] value(long segment, long offset, int length, byte[] key) {
    CorruptionException last = null;
    if (own.containsKey(segment)) {
      try {
        return valueAt(segment, mapped(segment), offset, length, key);
      } catch (CorruptionException e) {
        last = e;
      } catch (NoSuchFileException e) {
        last = missing(segment, offset);
      } catch (IOException e) {
        throw new StorageException("cannot read " + StoreFiles.segment(segment), e);
      }
    }
    List<Home> found = homes.getOrDefault(segment, List.of());
    for (int i = found.size() - 1; i >= 0; i--) {
      Home home = found.get(i);
      long at = home.relocations().find(segment, offset, ColdReadPolicy.WARM);
      if (at >= 0) {
        try {
          return valueAt(home.id(), home.region(), at, length, key);
        } catch (CorruptionException e) {
          last = e;
        }
      }
    }
    throw last == null ? missing(segment, offset) : last;
  }

  @Override
  public void close() {
    mapped.values().forEach(Region::free);
    mapped.clear();
  }

  private static CorruptionException missing(long segment, long offset) {
    return new CorruptionException(
        segment > 0 ? StoreFiles.segment(segment) : "segment " + segment,
        offset,
        "a record",
        "no file that has it");
  }

  private byte[] valueAt(long file, Region region, long at, int length, byte[] key) {
    String name = StoreFiles.segment(file);
    long limit = region.length();
    if (at < LogFormat.SEGMENT_HEADER_BYTES || length > limit - at) {
      throw new CorruptionException(name, at, "a record of " + length + " bytes", "end of file");
    }
    if (!holds(region, file, at, at + length) || record.length != length) {
      throw new CorruptionException(name, at, "a record of " + length + " bytes", "damaged bytes");
    }
    if (record.keyLength != key.length
        || region.compareTo(record.keyOffset, record.keyLength, key) != 0) {
      throw new CorruptionException(name, at, "the key's own record", "another key");
    }
    if (!record.compressed) {
      return region.getBytes(record.storedOffset(), record.storedLength);
    }
    byte[] value = new byte[record.valueLength];
    ByteBuffer stored = window.over(region, record.storedOffset(), record.storedLength);
    ValueCodec.decompress(stored, ByteBuffer.wrap(value), name, at);
    return value;
  }

  private boolean holds(Region region, long file, long at, long limit) {
    return at >= LogFormat.SEGMENT_HEADER_BYTES
        && record.decode(region, at, limit)
        && record.crcHolds(region, file, window);
  }

  private Region mapped(long id) throws IOException {
    return mapped(id, ALL);
  }

  private Region mapped(long id, long lengthMax) throws IOException {
    Region known = mapped.get(id);
    if (known != null) {
      return known;
    }
    String name = StoreFiles.segment(id);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long there = file.length();
      long length = lengthMax < 0 ? there : Math.min(lengthMax, there);
      if (length < 1 || length > Integer.MAX_VALUE) {
        throw new CorruptionException(name, 0, "records", "a file of " + there + " bytes");
      }
      Region region = Region.ofMapping(file.map(length));
      mapped.put(id, region);
      return region;
    }
  }
}
