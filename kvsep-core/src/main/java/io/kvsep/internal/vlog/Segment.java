package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.concurrent.NonAllocatingLock;
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
import org.jspecify.annotations.Nullable;

/**
 * One file of records, as readers see it: a segment of the log, or a sealed file of records that
 * were relocated out of old segments. Owns the open file and its read-only mapping.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>Bytes below {@link #publishedEnd} never change; nothing at or above it is ever read.
 *   <li>The mapping covers a prefix of the published bytes. It grows in steps, each a new mapping
 *       of the whole prefix; the old one is retired through the epochs. What is not mapped yet is
 *       read from the file.
 *   <li>Behind its data the file of the active segment may have <em>room</em>: zeros that take no
 *       space on the device. It is cut off when the segment is sealed and synced, or the store
 *       closed; what a crash leaves of it is no part of the log.
 * </ol>
 *
 * Thread safe: one thread publishes, any number read. Readers are inside the epochs.
 */
public final class Segment {
  /** Length of a segment of the log in which nothing was written yet. */
  public static final int EMPTY_BYTES = LogFormat.SEGMENT_HEADER_BYTES;

  /** What a frame takes of the file beside its records. */
  public static final int FRAME_BYTES = LogFormat.FRAME_HEADER_BYTES;

  /** Least tail worth a new mapping; below it positional reads are cheaper than page faults. */
  private static final long MAP_STEP_MIN = 1 << 20;

  /** Records from this length up are worth a new mapping by themselves. */
  private static final int MAP_RECORD_MIN = 1 << 20;

  /** Replacing so many mapped bytes costs about as much as one read that goes past the mapping. */
  private static final int MAPPED_BYTES_PER_READ_SHIFT = 15;

  /** And copying so many as such a read itself. */
  private static final int READ_BYTES_SHIFT = 13;

  private final Storage storage;
  private final StoreId storeId;
  private final long id;
  private final String name;
  private final Epochs<?> epochs;

  /** Pays for checking relocations, and hears of mappings that views outlive. */
  private final MemoryLedger ledger;

  private final boolean relocated;

  private final NonAllocatingLock mapLock = new NonAllocatingLock();

  /** Open as long as the log grows the segment. */
  private volatile @Nullable StorageFile file;

  private volatile long publishedEnd;
  private volatile boolean sealed;

  /** Where the file's room ends, 0 when it has none. Of the appending thread until sealed. */
  private volatile long roomEnd;

  /** Written before {@link #sealed}. */
  private long lastSequence;

  private volatile @Nullable Region mapping;

  /** What reads past the mapping have cost, about: readers count side by side. */
  private int unmappedReads;

  /** Of a relocated file; as long as the mapping. */
  private volatile @Nullable BlobFileIndex relocations;

  private Segment(
      Storage storage,
      StoreId storeId,
      long id,
      @Nullable StorageFile file,
      long publishedEnd,
      boolean sealed,
      Epochs<?> epochs,
      MemoryLedger ledger,
      boolean relocated) {
    this.storage = storage;
    this.storeId = storeId;
    this.id = id;
    this.name = StoreFiles.segment(id);
    this.file = file;
    this.publishedEnd = publishedEnd;
    this.sealed = sealed;
    this.epochs = epochs;
    this.ledger = ledger;
    this.relocated = relocated;
  }

  /** A new file with nothing in it; the log writer puts the header. */
  static Segment create(
      Storage storage, StoreId storeId, long id, Epochs<?> epochs, MemoryLedger ledger)
      throws IOException {
    StorageFile file = storage.create(StoreFiles.segment(id));
    return new Segment(
        storage, storeId, id, file, 0, /* sealed= */ false, epochs, ledger, /* relocated= */ false);
  }

  /** An existing file of which the first {@code end} bytes are known to be sound. */
  public static Segment open(
      Storage storage,
      StoreId storeId,
      long id,
      long end,
      boolean sealed,
      Epochs<?> epochs,
      MemoryLedger ledger) {
    return new Segment(
        storage, storeId, id, null, end, sealed, epochs, ledger, /* relocated= */ false);
  }

  /**
   * An existing file that a {@link BlobFileWriter} finished with length {@code end}. It is looked
   * at when it is first used, and what is wrong with it is reported then.
   *
   * @param ledger for the memory in which its relocations are checked
   */
  public static Segment openRelocated(
      Storage storage, StoreId storeId, long id, long end, Epochs<?> epochs, MemoryLedger ledger) {
    return new Segment(
        storage, storeId, id, null, end, /* sealed= */ true, epochs, ledger, /* relocated= */ true);
  }

  public long id() {
    return id;
  }

  public String name() {
    return name;
  }

  /** Bytes that may be read. */
  public long publishedEnd() {
    return publishedEnd;
  }

  public boolean isSealed() {
    return sealed;
  }

  /** Whether this holds records of other segments, rather than a part of the log. */
  public boolean isRelocated() {
    return relocated;
  }

  /** Opens a recovered segment for writing. */
  void resume() throws IOException {
    StorageFile open = storage.open(name, /* writable= */ true);
    file = open;
    long length = open.length();
    roomEnd = length > publishedEnd ? length : 0;
  }

  /**
   * Gives the file room. Called by the appending thread with nothing written behind {@link
   * #publishedEnd}. When it fails there may be room all the same.
   *
   * @param zero one byte, 0
   * @param end how long the file is to be; beyond what it has by now
   */
  void makeRoom(ByteBuffer zero, long end) throws IOException {
    roomEnd = end;
    write(zero, end - 1);
  }

  /** Where the file's room ends, 0 when it has none. */
  public long roomEnd() {
    return roomEnd;
  }

  /**
   * Reads some of the room, for the sake of what the system does for it. Any thread, at any time.
   *
   * @return the bytes read; fewer than asked for where the room has gone
   */
  public int readRoom(ByteBuffer target, long offset) throws IOException {
    StorageFile open = file;
    return open == null ? 0 : open.read(target, offset);
  }

  /** The file has no room any more: it was cut at {@link #publishedEnd}. */
  void forgetRoom() {
    roomEnd = 0;
  }

  /**
   * Cuts the room off, by the thread that appends, or by whoever syncs what was sealed. Where that
   * fails, a few zeros stay behind the data, which nobody takes for any.
   */
  void cutRoom() {
    StorageFile open = file;
    if (roomEnd == 0 || open == null) {
      return;
    }
    roomEnd = 0;
    try {
      if (open.length() > publishedEnd) {
        open.truncate(publishedEnd);
      }
    } catch (IOException e) {
      // Whoever writes next will hear of what the device has.
      return;
    }
  }

  void write(ByteBuffer source, long offset) throws IOException {
    writable().write(source, offset);
  }

  /** The file while the log grows the segment. */
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

  /** Closes the file of a sealed segment once no reader can be in the middle of a read. */
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

  /** Of one that was sealed since the store was opened: no record has a higher number. */
  public long lastSequence() {
    return lastSequence;
  }

  /**
   * A mapping that covers the file up to {@code end}, or null when these bytes have to be read with
   * {@link #read}. {@code end} is at most {@link #publishedEnd}.
   */
  @Nullable Region mapped(long end, int recordLength) {
    Region current = mapping;
    return current != null && current.length() >= end ? current : mapMore(end, recordLength);
  }

  /** Brings a part of a mapping of this into memory; false if it was there. */
  boolean load(Region region, long offset, int count) {
    return region.test(offset, count, storage::load);
  }

  /** What is mapped so far, which may end before {@link #publishedEnd}; null for nothing. */
  @Nullable Region mappedSoFar() {
    return mapping;
  }

  /**
   * Bytes of the records in this relocated file, live or not. As with {@link #find}, the caller is
   * inside the epochs or knows otherwise that the file stays.
   */
  public long relocatedBytes() {
    return found().recordBytes();
  }

  /**
   * Offset at which this relocated file holds the record that an old segment had at {@code offset},
   * -1 when it does not.
   */
  long find(long segment, long offset) {
    return find(segment, offset, ColdReadPolicy.WARM);
  }

  /** As above, in a store that may not fit into memory. */
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
   * A new mapping has each page that is read again brought into it anew, and the old one taken
   * down, which costs the more the longer they are; so first so many reads go past it that these
   * have cost about as much. Each costs a call of the system, and a copy.
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

  /** Its records are told apart from those of another store's segment by the header alone. */
  private void check(StorageFile from, Region region) throws IOException {
    if (relocated) {
      relocations = BlobFileIndex.read(from, region, storeId, id, ledger);
    } else {
      LogFormat.checkHeader(region, region.length(), name, storeId, id, new NativeWindow());
    }
  }

  /** Fills {@code target} from {@code offset}; all of it lies below {@link #publishedEnd}. */
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
    // Sealed and closed since the caller looked: rare enough to open it again for one read.
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

  /** Unmaps and closes the file; only when nobody can read it any more. */
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
      // All that counts was synced before; there is nothing to be lost with the file's handle.
    }
  }
}
