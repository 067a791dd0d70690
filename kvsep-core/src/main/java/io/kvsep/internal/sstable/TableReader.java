package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.PinCount;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * Reads one finished table through a mapping of its file, which it owns until the last pin is
 * dropped; the file is closed after mapping.
 *
 * <p>Header, footer, index and properties are verified on open, data blocks on entry, the filter
 * when it is first asked: iterators do without it, and so do most lookups in a last level. Damage
 * raises {@link CorruptionException}; a file that is not a table of this store and version raises
 * {@link IncompatibleFormatException}.
 *
 * <p>Thread safe: the state of a lookup or scan is in its {@link Lookup} or iterator. A lookup
 * takes no lock, and allocates nothing unless it is the first that asks the filter. Its caller is
 * inside the epochs or holds a pin.
 */
public final class TableReader implements AutoCloseable, ReaderCache.Reader {
  /**
   * About 1,000 bytes of heap with its cache entry and {@link #spare}, and the kernel's record of
   * the mapping, without its pages and deleted ranges.
   */
  private static final int WEIGHT_BYTES = 1024;

  private final String name;
  private final Region mapping;
  private final PinCount pins;
  private final TableCache cache;

  /** Cached unpacked blocks; null until one was packed. */
  private volatile @Nullable AtomicReferenceArray<@Nullable CachedBlock> unpackedBlocks;

  private final TableBytes bytes;
  private final TableFooter footer;

  /** Null until it is asked. Not volatile: it is immutable, and may be made twice. */
  private @Nullable BloomFilter filter;

  private final TableIndex index;
  private final TableMeta properties;
  private final RangeTombstones rangeTombstones;

  /** Left by the iterator closed last: many cursors are short. */
  private final AtomicReference<@Nullable IteratorMemory> spare = new AtomicReference<>();

  private TableReader(
      String name,
      Region mapping,
      long number,
      StoreId storeId,
      long fileBytesExpected,
      TableCache cache) {
    this.name = name;
    this.cache = cache;
    this.mapping = mapping;
    this.pins = new PinCount(this::free);
    this.bytes =
        new TableBytes(name, mapping, TableFormat.checksumSeed(storeId, number), cache.cold());
    NativeWindow window = new NativeWindow();
    bytes.load(0, Math.min(mapping.length(), TableFormat.HEADER_BYTES));
    FileHeader.read(mapping, mapping.length(), TableFormat.KIND, name, window)
        .require(storeId, number, TableFormat.KIND, name);
    long fileBytes = mapping.length();
    if (fileBytes != fileBytesExpected) {
      throw new CorruptionException(
          name, fileBytes, "a file of " + fileBytesExpected + " bytes", fileBytes + " bytes");
    }
    this.footer = TableFooter.read(bytes, window);
    bytes.load(footer.indexAt(), footer.at() - footer.indexAt());
    this.index = footer.index(window);
    TableProperties.Contents contents = footer.properties(number, window);
    this.properties = contents.meta();
    this.rangeTombstones = contents.ranges();
  }

  /**
   * Opens a table and compares it with what the manifest says.
   *
   * @throws IOException if the file does not exist or cannot be read
   */
  public static TableReader open(Storage storage, TableMeta meta, StoreId storeId, TableCache cache)
      throws IOException {
    TableReader reader = open(storage, meta.number(), storeId, meta.fileBytes(), cache);
    TableMeta found = reader.properties;
    if (!meta.describes(found)) {
      reader.close();
      throw TableFacts.anotherTable(reader.name, meta, found);
    }
    return reader;
  }

  private static TableReader open(
      Storage storage, long number, StoreId storeId, long fileBytesExpected, TableCache cache)
      throws IOException {
    String name = StoreFiles.table(number);
    Region mapping = map(storage, name, cache.ledger());
    TableReader reader = null;
    try {
      reader = read(name, mapping, number, storeId, fileBytesExpected, cache);
    } finally {
      if (reader == null) {
        mapping.free();
      }
    }
    return reader;
  }

  private static TableReader read(
      String name,
      Region mapping,
      long number,
      StoreId storeId,
      long fileBytesExpected,
      TableCache cache) {
    try {
      return new TableReader(name, mapping, number, storeId, fileBytesExpected, cache);
    } catch (IndexOutOfBoundsException e) {
      throw new CorruptionException(name, 0, "a table", String.valueOf(e.getMessage()));
    } finally {
      // What was decoded, or looks damaged, may come from an unreadable page.
      Region.requirePagesRead();
    }
  }

  private static Region map(Storage storage, String name, MemoryLedger ledger) throws IOException {
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < 1 || length > TableFormat.FILE_BYTES_MAX) {
        throw new CorruptionException(name, 0, "a table", "a file of " + length + " bytes");
      }
      return Region.ofMapping(file.map(length), ledger, storage.deletesMapped());
    }
  }

  /**
   * Finds the newest entry of {@code key} with a tag of at most {@code seekTag}. Allocates only if
   * a searched block lacks the key. The result never depends on an unreadable page.
   *
   * @param keyHash {@link io.kvsep.internal.memory.KeyHash#of} of the key
   * @return whether there is one; {@code result} then has its tag and payload
   * @throws InternalError if a page cannot be read
   */
  public boolean get(
      Region key, long keyOffset, int keyLength, long keyHash, long seekTag, Lookup result) {
    return filter().mayContain(keyHash, result.filterLine)
        && find(key, keyOffset, keyLength, seekTag, result);
  }

  /**
   * As {@link #get}, in a table with no table below that may have the key, where the filter only
   * rejects absent keys. While all lookups hit, it is skipped, which saves a cache miss. After a
   * miss it is used for some hundred lookups, so at most one in as many searches a block in vain.
   * It is opened after the first miss: that takes far longer than to search a block. If that block
   * is damaged, the filter is consulted: a key known to be absent stays readable. Figures:
   * docs/decisions/02.
   */
  public boolean getLast(
      Region key, long keyOffset, int keyLength, long keyHash, long seekTag, Lookup result) {
    boolean found = false;
    try {
      BloomFilter known = result.expectsHit() ? null : filter;
      found =
          (known == null || known.mayContain(keyHash, result.filterLine))
              && find(key, keyOffset, keyLength, seekTag, result);
      if (!found) {
        filter();
      }
    } catch (CorruptionException e) {
      if (filter().mayContain(keyHash, result.filterLine)) {
        throw e;
      }
    } finally {
      result.noteLast(found);
    }
    return found;
  }

  private boolean find(Region key, long keyOffset, int keyLength, long seekTag, Lookup result) {
    // Throws for an error of the caller, before out of bounds means damage.
    key.keyPrefix(keyOffset, keyLength);
    BlockView block = result.block;
    try {
      int blockIndex = index.find(key, keyOffset, keyLength, seekTag, block.window);
      if (blockIndex == index.blockCount()) {
        return false;
      }
      block.enterShared(this, blockIndex, result.unpacked);
      if (!block.find(key, keyOffset, keyLength, seekTag)) {
        // Rare. The block may have become unreadable after its checksum was verified.
        Region.requirePagesRead();
        return false;
      }
    } catch (IndexOutOfBoundsException e) {
      throw damaged(block, e);
    }
    result.tag = block.tag;
    result.payloadRegion = block.region();
    result.payloadOffset = block.payload;
    result.payloadLength = block.payloadLength;
    return true;
  }

  /**
   * Where a stored key is or would be, before all its versions.
   *
   * @param region begins with the key
   */
  public RangeTally.Place place(Region region, int keyLength, Lookup scratch) {
    BlockView block = scratch.block;
    try {
      int number = index.find(region, 0, keyLength, Tag.MAX, block.window);
      if (number == index.blockCount()) {
        return new RangeTally.Place(number, 0);
      }
      block.enterShared(this, number, scratch.unpacked);
      return new RangeTally.Place(number, block.rank(region, keyLength));
    } catch (IndexOutOfBoundsException e) {
      throw damaged(block, e);
    }
  }

  /** The place before all entries. */
  public RangeTally.Place begin() {
    return new RangeTally.Place(0, 0);
  }

  /** The place after all entries. */
  public RangeTally.Place end() {
    return new RangeTally.Place(index.blockCount(), 0);
  }

  /** Estimates what lies between two places; exact if they are no more than 16 blocks apart. */
  public RangeTally tally(RangeTally.Place from, RangeTally.Place to, Lookup scratch) {
    RangeTally tally = new RangeTally(this, scratch);
    try {
      tally.add(from, to);
      return tally;
    } catch (IndexOutOfBoundsException e) {
      throw damaged(scratch.block, e);
    }
  }

  /** On the heap, so readable after the table is closed. */
  public RangeTombstones rangeTombstones() {
    return rangeTombstones;
  }

  /** False is certain. */
  public boolean mayContain(long keyHash) {
    return filter().mayContain(keyHash, new long[Region.LINE_LONGS]);
  }

  private BloomFilter filter() {
    BloomFilter known = filter;
    return known != null ? known : openFilter();
  }

  private BloomFilter openFilter() {
    BloomFilter opened;
    try {
      bytes.load(footer.filterAt(), footer.indexAt() - footer.filterAt());
      opened = footer.filter(new NativeWindow());
    } catch (IndexOutOfBoundsException e) {
      throw new CorruptionException(
          name, footer.filterAt(), "a filter", String.valueOf(e.getMessage()));
    } finally {
      Region.requirePagesRead();
    }
    filter = opened;
    return opened;
  }

  /** The iterator holds its own pin until it is closed. */
  public InternalIterator iterator(MemoryLedger ledger) {
    if (!pins.tryPin()) {
      throw new IllegalStateException(name + " is closed");
    }
    return pinnedIterator(ledger);
  }

  /** As {@link #iterator}; takes over a pin of the caller, even if it fails. */
  public InternalIterator pinnedIterator(MemoryLedger ledger) {
    try {
      return new TableIterator(this, ledger);
    } catch (RuntimeException | Error e) {
      // Scratch memory may run out.
      unpin();
      throw e;
    }
  }

  public long mappedBytes() {
    return mapping.length();
  }

  /** Keeps the mapping until {@link #unpin}; false if it is freed. */
  public boolean tryPin() {
    return pins.tryPin();
  }

  /** The last unpin frees the mapping. */
  @Override
  public void unpin() {
    pins.unpin();
  }

  @Override
  public void evicted() {
    cache.retire(this);
  }

  @Override
  public int weightBytes() {
    return (int) Math.min(Integer.MAX_VALUE, WEIGHT_BYTES + rangeTombstones.bytes());
  }

  /** Drops the pin of the creator. */
  @Override
  public void close() {
    pins.unpin();
  }

  String name() {
    return name;
  }

  Region mapping() {
    return mapping;
  }

  TableBytes bytes() {
    return bytes;
  }

  TableIndex index() {
    return index;
  }

  /** The iterator gives it back before it drops its pin. */
  IteratorMemory takeMemory(MemoryLedger ledger) {
    IteratorMemory left = spare.getAndSet(null);
    return left != null ? left : new IteratorMemory(ledger);
  }

  /** Takes trimmed memory. */
  void giveMemory(IteratorMemory memory) {
    if (!spare.compareAndSet(null, memory)) {
      memory.close();
    }
  }

  /** Null if the block must be read from the file. */
  @Nullable CachedBlock cached(int block) {
    AtomicReferenceArray<@Nullable CachedBlock> blocks = unpackedBlocks;
    return blocks == null ? null : blocks.get(block);
  }

  /** Records a use; a sample suffices. */
  void used(CachedBlock block) {
    cache.used(block);
  }

  /**
   * Unpacks a block into the cache. The caller is inside the epochs. Null if the cache is full:
   * while a thread stays inside the epochs, no evicted block is freed.
   */
  @Nullable CachedBlock cache(int block, PackedBlock packed, long start, long trailer) {
    if (!cache.hasRoomForBlock()) {
      return null;
    }
    AtomicReferenceArray<@Nullable CachedBlock> blocks = placesForBlocks();
    Region bytes = packed.unpack(mapping, start, trailer, cache.ledger());
    CachedBlock made = new CachedBlock(cache, blocks, block, bytes);
    CachedBlock other = blocks.compareAndExchange(block, null, made);
    if (other != null) {
      made.unpin();
      return other;
    }
    cache.unpacked(made);
    return made;
  }

  private synchronized AtomicReferenceArray<@Nullable CachedBlock> placesForBlocks() {
    AtomicReferenceArray<@Nullable CachedBlock> blocks = unpackedBlocks;
    if (blocks == null) {
      blocks = new AtomicReferenceArray<>(index.blockCount());
      unpackedBlocks = blocks;
    }
    return blocks;
  }

  /**
   * No pin is left and all threads that found the table have left the epochs: no thread reads a
   * block.
   */
  private void free() {
    AtomicReferenceArray<@Nullable CachedBlock> blocks = unpackedBlocks;
    for (int i = 0; blocks != null && i < blocks.length(); i++) {
      CachedBlock block = blocks.getAndSet(i, null);
      if (block != null) {
        cache.closed(block);
        block.unpin();
      }
    }
    IteratorMemory left = spare.getAndSet(null);
    try {
      if (left != null) {
        left.close();
      }
    } finally {
      mapping.free();
    }
  }

  CorruptionException damaged(BlockView block, IndexOutOfBoundsException cause) {
    // After an unreadable page, malformed bytes need not be in the file.
    Region.requirePagesRead();
    return new CorruptionException(
        name, block.fileOffset, "a block that holds together", String.valueOf(cause.getMessage()));
  }
}
