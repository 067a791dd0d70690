package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * One file of records for readers: a log segment or a sealed blob file. Owns the open file and its
 * read-only mapping.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: bytes below {@link #publishedEnd} never change; later bytes are never read.
 *   <li>I2: the mapping covers a prefix of the published bytes. To grow, the whole prefix is mapped
 *       anew and the old mapping retired through the epochs. Unmapped bytes are read from the file.
 * </ul>
 *
 * One thread publishes, any number of threads read, inside an epoch.
 */
public final class Segment {
  public static final int EMPTY_BYTES = LogFormat.SEGMENT_HEADER_BYTES;

  public static final int FRAME_BYTES = LogFormat.FRAME_HEADER_BYTES;

  /** For a shorter tail positional reads are cheaper than page faults. */
  private static final long MAP_STEP_MIN = 1 << 20;

  /** Longer records justify a new mapping at once. */
  private static final int MAP_RECORD_MIN = 1 << 20;

  /** Replacing this many mapped bytes costs about one read past the mapping. */
  private static final int MAPPED_BYTES_PER_READ_SHIFT = 15;

  /** Copying this many bytes costs about as much as the read itself. */
  private static final int READ_BYTES_SHIFT = 13;

  private final Storage storage;
  private final StoreId storeId;
  private final long id;
  private final String name;
  private final Epochs<?> epochs;

  /** Charged for checking relocations; tracks mappings that views still reference. */
  private final MemoryLedger ledger;

  private final boolean relocated;

  private final ReentrantLock mapLock = new ReentrantLock();

  /** Open while the segment is written. */
  private volatile @Nullable StorageFile file;

  private volatile long publishedEnd;
  private volatile boolean sealed;

  /** Written before {@link #sealed}. */
  private long lastSequence;

  private volatile @Nullable Region mapping;

  /** Approximate cost of reads past the mapping; unsynchronized. */
  private int unmappedReads;

  /** Index of a blob file; valid as long as the mapping. */
  private volatile @Nullable BlobFileIndex relocations;

  private Segment(
      Storage storage,
      StoreId storeId,
      long id,
      boolean relocated,
      Epochs<?> epochs,
      MemoryLedger ledger) {
    this.storage = storage;
    this.storeId = storeId;
    this.id = id;
    this.name = StoreFiles.segment(id);
    this.relocated = relocated;
    this.epochs = epochs;
    this.ledger = ledger;
  }

  static Segment create(
      Storage storage, StoreId storeId, long id, Epochs<?> epochs, MemoryLedger ledger)
      throws IOException {
    Segment segment = new Segment(storage, storeId, id, /* relocated= */ false, epochs, ledger);
    segment.file = storage.create(segment.name);
    return segment;
  }

  /** The first {@code end} bytes of the file are known to be valid. */
  public static Segment open(
      Storage storage,
      StoreId storeId,
      long id,
      long end,
      boolean sealed,
      Epochs<?> epochs,
      MemoryLedger ledger) {
    Segment segment = new Segment(storage, storeId, id, /* relocated= */ false, epochs, ledger);
    segment.publishedEnd = end;
    segment.sealed = sealed;
    return segment;
  }

  /** Opens a blob file of length {@code end}. The first use checks it and reports damage. */
  public static Segment openRelocated(
      Storage storage, StoreId storeId, long id, long end, Epochs<?> epochs, MemoryLedger ledger) {
    Segment segment = new Segment(storage, storeId, id, /* relocated= */ true, epochs, ledger);
    segment.publishedEnd = end;
    segment.sealed = true;
    return segment;
  }

  public long id() {
    return id;
  }

  public String name() {
    return name;
  }

  public long publishedEnd() {
    return publishedEnd;
  }

  boolean isSealed() {
    return sealed;
  }

  public boolean isRelocated() {
    return relocated;
  }

  void resume() throws IOException {
    file = storage.open(name, /* writable= */ true);
  }

  StorageFile writable() {
    StorageFile open = file;
    if (open == null) {
      throw new IllegalStateException(name + " is not open for writing");
    }
    return open;
  }

  void sync() throws IOException {
    StorageFile open = file;
    if (open != null) {
      open.sync();
      return;
    }
    try (StorageFile reopened = storage.open(name, /* writable= */ true)) {
      reopened.sync();
    }
  }

  /** Closes the file of a sealed segment once no reader can be reading it. */
  void closeFile() {
    StorageFile open = file;
    file = null;
    if (open != null) {
      epochs.retire(() -> close(open));
    }
  }

  void publish(long end) {
    publishedEnd = end;
  }

  void seal(long lastSequence) {
    this.lastSequence = lastSequence;
    sealed = true;
  }

  /** Highest sequence number, for a segment sealed since the store was opened. */
  public long lastSequence() {
    return lastSequence;
  }

  /**
   * Returns a mapping that covers the file up to {@code end}, or null if the bytes must be read
   * with {@link #read}.
   */
  @Nullable Region mapped(long end, int recordLength) {
    Region current = mapping;
    return current != null && current.length() >= end ? current : mapMore(end, recordLength);
  }

  /**
   * Brings a part of a sealed file into memory, for a caller inside an epoch. Returns false if it
   * was there, or the file is not mapped.
   */
  public boolean load(long offset, long count) {
    long end = publishedEnd();
    Region region = mapped(end, 0);
    return region != null && load(region, offset, (int) Math.min(count, end - offset));
  }

  /** Returns false if it already was in memory. */
  boolean load(Region region, long offset, int count) {
    return region.test(offset, count, storage::load);
  }

  /** May be null, and may end before {@link #publishedEnd}. */
  @Nullable Region mappedSoFar() {
    return mapping;
  }

  /**
   * Bytes of all records, live or dead. The caller is inside an epoch, or keeps the file in another
   * way.
   */
  public long relocatedBytes() {
    return found().recordBytes();
  }

  /** See {@link BlobFileIndex#find}. */
  long find(long segment, long offset) {
    return find(segment, offset, ColdReadPolicy.WARM);
  }

  long find(long segment, long offset, ColdReadPolicy cold) {
    BlobFileIndex known = relocations;
    if (known == null && !isRelocated()) {
      return -1;
    }
    return (known == null ? found() : known).find(segment, offset, cold);
  }

  private BlobFileIndex found() {
    if (relocations == null) {
      mapped(publishedEnd, 0);
    }
    BlobFileIndex known = relocations;
    if (known == null) {
      throw new CorruptionException(name, 0, "relocated records", "a file of no length");
    }
    return known;
  }

  private @Nullable Region mapMore(long end, int recordLength) {
    Region before = mapping;
    if (!isWorthMapping(before == null ? 0 : before.length(), recordLength)) {
      return null;
    }
    mapLock.lock();
    try {
      Region current = mapping;
      long covered = current == null ? 0 : current.length();
      if (covered >= end) {
        return current;
      }
      long published = publishedEnd;
      Region grown = map(published);
      mapping = grown;
      unmappedReads = 0;
      if (current != null) {
        epochs.retire(current::free);
      }
      return grown;
    } catch (IOException e) {
      throw new StorageException("cannot map " + name, e);
    } finally {
      mapLock.unlock();
    }
  }

  private boolean isWorthMapping(long covered, int recordLength) {
    return sealed
        || recordLength >= MAP_RECORD_MIN
        || (publishedEnd - covered >= Math.max(MAP_STEP_MIN, covered / 32)
            && isPaid(covered, recordLength));
  }

  /**
   * A new mapping faults in each page again and unmaps the old one, at a cost proportional to its
   * length. It pays once reads past the mapping, a system call and a copy each, have cost as much.
   */
  private boolean isPaid(long covered, int recordLength) {
    unmappedReads += 1 + (recordLength >>> READ_BYTES_SHIFT);
    return unmappedReads >= covered >>> MAPPED_BYTES_PER_READ_SHIFT;
  }

  private Region map(long length) throws IOException {
    StorageFile open = file;
    if (open != null) {
      return map(open, length);
    }
    try (StorageFile reopened = storage.open(name, /* writable= */ false)) {
      return map(reopened, length);
    }
  }

  private Region map(StorageFile from, long length) throws IOException {
    if (from.length() < length) {
      throw new CorruptionException(
          name, from.length(), length + " bytes of records", "end of file");
    }
    Region region = Region.ofMapping(from.map(length), ledger, storage.deletesMapped());
    boolean holds = false;
    try {
      load(region, 0, (int) Math.min(region.length(), EMPTY_BYTES));
      check(from, region);
      holds = true;
      return region;
    } finally {
      if (!holds) {
        region.free();
      }
    }
  }

  /** Only the header distinguishes a segment from one of another store. */
  private void check(StorageFile from, Region region) throws IOException {
    if (relocated) {
      relocations = BlobFileIndex.read(from, region, storeId, id, ledger);
    } else {
      LogFormat.checkHeader(region, region.length(), name, storeId, id, new NativeWindow());
    }
  }

  /** Fills {@code target} from {@code offset}; the range is below {@link #publishedEnd}. */
  void read(ByteBuffer target, long offset) {
    try {
      read(file, target, offset);
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }

  private void read(@Nullable StorageFile open, ByteBuffer target, long offset) throws IOException {
    if (open != null) {
      readFully(open, target, offset);
      return;
    }
    // Closed after the check, which is rare: reopened for one read.
    try (StorageFile reopened = storage.open(name, /* writable= */ false)) {
      readFully(reopened, target, offset);
    }
  }

  private void readFully(StorageFile open, ByteBuffer target, long offset) throws IOException {
    int wanted = target.remaining();
    int count = open.read(target, offset);
    if (count < wanted) {
      throw new CorruptionException(
          name, offset + count, wanted + " bytes from " + offset, "end of file");
    }
  }

  /** No reader may use the segment any more. */
  public void free() {
    Region current = mapping;
    mapping = null;
    relocations = null;
    if (current != null) {
      current.free();
    }
    StorageFile open = file;
    file = null;
    if (open != null) {
      close(open);
    }
  }

  private static void close(StorageFile open) {
    try {
      open.close();
    } catch (IOException e) {
      // The data is already synced; only the handle is lost.
    }
  }
}
