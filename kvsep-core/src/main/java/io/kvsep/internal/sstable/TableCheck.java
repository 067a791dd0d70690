package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Reads every byte of a table and cross-checks it: checksums, order, restarts, filter and index for
 * every key, and the properties against the entries. Continues after damage as far as the rest can
 * be located; blocks need a sound index.
 *
 * <p>Holds the mapping, one key and the properties. Not thread safe.
 */
public final class TableCheck implements AutoCloseable {
  public interface EntrySink {
    /** Key and payload are valid during the call; the key starts at 0. */
    void entry(
        long blockOffset,
        Region key,
        int keyLength,
        long tag,
        Region payload,
        long payloadOffset,
        int payloadLength);
  }

  private final String name;
  private final long number;
  private final StoreId storeId;
  private final Consumer<CorruptionException> problems;
  private final NativeWindow window = new NativeWindow();
  private final BlockView block = new BlockView();
  private final long[] filterLine = new long[Region.LINE_LONGS];
  private final GrowingRegion unpacked;
  private final GrowingRegion keyMemory;
  private final MetaBuilder counted = new MetaBuilder();
  private final Region mapping;
  private final TableBytes bytes;

  private @Nullable TableFooter footer;
  private @Nullable BloomFilter filter;
  private @Nullable TableIndex index;
  private TableProperties.@Nullable Contents properties;

  private boolean complete = true;

  private @Nullable BlockPlaces places;

  private final List<LostBlocks> lost = new ArrayList<>();
  private long lostFrom = -1;
  private long lostTo;
  private byte @Nullable [] lostAbove;

  private int keyLength;
  private long tag;
  private boolean hasKey;
  private long entryCount;
  private long largestSequence;

  private TableCheck(
      Region mapping,
      long number,
      StoreId storeId,
      MemoryLedger ledger,
      Consumer<CorruptionException> problems) {
    this.name = StoreFiles.table(number);
    this.number = number;
    this.storeId = storeId;
    this.problems = problems;
    this.mapping = mapping;
    this.bytes =
        new TableBytes(
            name, mapping, TableFormat.checksumSeed(storeId, number), ColdReadPolicy.WARM);
    this.unpacked = new GrowingRegion(ledger, MemoryPurpose.READ);
    this.keyMemory = new GrowingRegion(ledger, MemoryPurpose.READ);
  }

  /**
   * Opens a table without trusting it.
   *
   * @param problems receives all damage, here and later
   * @return null if there is nothing to check
   * @throws StorageException if the file cannot be read
   */
  public static @Nullable TableCheck open(
      Storage storage,
      long number,
      StoreId storeId,
      MemoryLedger ledger,
      Consumer<CorruptionException> problems) {
    String name = StoreFiles.table(number);
    try (StorageFile file = storage.open(name, /* writable= */ false)) {
      long length = file.length();
      if (length < 1 || length > TableFormat.FILE_BYTES_MAX) {
        problems.accept(
            new CorruptionException(name, 0, "a table", "a file of " + length + " bytes"));
        return null;
      }
      return new TableCheck(Region.ofMapping(file.map(length)), number, storeId, ledger, problems);
    } catch (NoSuchFileException e) {
      problems.accept(new CorruptionException(name, 0, "a table of this store", "no such file"));
      return null;
    } catch (IOException e) {
      throw new StorageException("cannot read " + name, e);
    }
  }

  /**
   * Checks the sections and passes on all sound entries.
   *
   * @param pulse called between blocks; may throw to cancel
   */
  public void run(EntrySink sink, Runnable pulse) {
    checkHeader();
    if (!checkSections()) {
      complete = false;
      return;
    }
    TableIndex known = index;
    if (known == null) {
      complete = false;
      return;
    }
    places = known;
    for (int i = 0; i < known.blockCount(); i++) {
      pulse.run();
      checkBlock(known, i, sink);
    }
    endLost(null);
    TableProperties.Contents said = properties;
    if (complete && said != null && hasKey) {
      counted.largestKey(keyMemory.region().getBytes(0, keyLength));
      counted.add(said.ranges());
      compare("what the properties say", said.meta());
    }
  }

  /**
   * For a table with a damaged index. The bytes between the blocks found are in {@link
   * #lostBlocks}.
   */
  public void search(EntrySink sink, Runnable pulse) {
    if (places != null) {
      return;
    }
    long filterAt = at(TableFooter::filterAt);
    boolean endKnown = filterAt > TableFormat.HEADER_BYTES && filterAt < mapping.length();
    long limit = endKnown ? filterAt : mapping.length();
    BlockPlaces found = new FoundBlocks(bytes, limit, pulse);
    long behind = TableFormat.HEADER_BYTES;
    for (int i = 0; i < found.blockCount(); i++) {
      pulse.run();
      beginLost(behind, found.blockStart(i));
      behind = found.blockEnd(i);
      checkBlock(found, i, sink);
    }
    // If the file ends between two blocks, nothing is left of later ones.
    beginLost(behind, endKnown ? limit : Math.max(limit, behind + 1));
    endLost(null);
    places = found;
  }

  public void compareWithManifest(TableMeta meta) {
    if (meta.fileBytes() != mapping.length()) {
      problem(
          Math.min(meta.fileBytes(), mapping.length()),
          "a file of " + meta.fileBytes() + " bytes",
          mapping.length() + " bytes");
    }
    if (complete && properties != null && hasKey) {
      compare("what the manifest says", meta);
    }
  }

  /** Reports a problem if the manifest describes another table. */
  public boolean isDescribedBy(TableMeta meta) {
    TableMeta found = properties();
    if (found == null || meta.describes(found)) {
      return true;
    }
    problems.accept(TableFacts.anotherTable(name, meta, found));
    return false;
  }

  public long fileBytes() {
    return mapping.length();
  }

  /** Entries in sound blocks. */
  public long entryCount() {
    return entryCount;
  }

  /** In order; empty if no block was checked. */
  public List<LostBlocks> lostBlocks() {
    return List.copyOf(lost);
  }

  public boolean hasBlocks() {
    return places != null && places.blockCount() > 0;
  }

  /** Null if the properties are damaged. */
  public @Nullable TableMeta properties() {
    TableProperties.Contents said = properties;
    return said == null ? null : said.meta();
  }

  /** Whether the properties are sound and name a bulk load as writer. */
  public boolean isLoaded() {
    TableProperties.Contents said = properties;
    return said != null && said.loaded();
  }

  /** Reads no block. Null if the properties are damaged. */
  @Nullable TableMeta readProperties() {
    checkHeader();
    checkSections();
    return properties();
  }

  /** 0 if there is no sound entry. */
  public long largestSequence() {
    return largestSequence;
  }

  /** Forward only, over all sound entries. To be closed before this. */
  public InternalIterator iterator(MemoryLedger ledger) {
    BlockPlaces blocks = places;
    if (blocks == null) {
      throw new IllegalStateException("the places of the blocks of " + name + " are unknown");
    }
    return new SoundEntries(bytes, blocks, ledger);
  }

  /** Null if the properties are damaged. */
  public @Nullable RangeTombstones ranges() {
    TableProperties.Contents said = properties;
    return said == null ? null : said.ranges();
  }

  @Override
  public void close() {
    unpacked.close();
    keyMemory.close();
    mapping.free();
  }

  /** The rest has its own checksums, which include store id and table number. */
  private void checkHeader() {
    try {
      FileHeader.read(mapping, mapping.length(), TableFormat.KIND, name, window)
          .require(storeId, number, TableFormat.KIND, name);
    } catch (CorruptionException e) {
      problems.accept(e);
    } catch (IncompatibleFormatException e) {
      problem(0, "a table of this store", String.valueOf(e.getMessage()));
    }
  }

  /** Returns false if the footer is damaged. */
  private boolean checkSections() {
    attempt(0, () -> footer = TableFooter.read(bytes, window));
    TableFooter known = footer;
    if (known != null) {
      attempt(known.filterAt(), () -> filter = known.filter(window));
      attempt(known.indexAt(), () -> index = known.index(window));
      attempt(known.propertiesAt(), () -> properties = known.properties(number, window));
    }
    return known != null;
  }

  /** Returns 0 if the footer is damaged. */
  private long at(ToLongFunction<TableFooter> section) {
    TableFooter known = footer;
    return known == null ? 0 : section.applyAsLong(known);
  }

  private void checkBlock(BlockPlaces blocks, int ordinal, EntrySink sink) {
    long start = blocks.blockStart(ordinal);
    boolean read =
        attempt(
            start,
            () -> {
              block.enter(bytes, start, blocks.blockEnd(ordinal), unpacked);
              checkEntries(ordinal, sink);
            });
    if (!read) {
      complete = false;
      beginLost(start, blocks.blockEnd(ordinal));
    }
  }

  private void beginLost(long from, long to) {
    if (from < to) {
      if (lostFrom < 0) {
        lostFrom = from;
        lostAbove = hasKey ? keyMemory.region().getBytes(0, keyLength) : null;
      }
      lostTo = to;
    }
  }

  private void endLost(byte @Nullable [] below) {
    if (lostFrom >= 0) {
      lost.add(new LostBlocks(lostFrom, lostTo, lostAbove, below));
      lostFrom = -1;
    }
  }

  private void checkEntries(int ordinal, EntrySink sink) {
    Region source = block.region();
    int restart = 0;
    boolean first = true;
    long at = block.start;
    while (at < block.limit) {
      block.parse(at);
      boolean begins = restart < block.restartCount() && block.restart(restart) == at;
      if (begins) {
        restart++;
      }
      if (begins != (block.shared == 0) && (begins || first)) {
        throw new IndexOutOfBoundsException("the entry at " + at + " shares bytes with none");
      }
      boolean sameKey = takeKey(source);
      if (lostFrom >= 0) {
        endLost(keyMemory.region().getBytes(0, keyLength));
      }
      first = false;
      requirePayload(block, source);
      checkWhereItIsSought(ordinal);
      if (!hasKey) {
        counted.smallestKey(keyMemory.region().getBytes(0, keyLength));
        hasKey = true;
      }
      counted.add(keyLength, sameKey, tag, source, block.payload);
      entryCount++;
      largestSequence = Math.max(largestSequence, Tag.sequence(tag));
      sink.entry(
          block.fileOffset,
          keyMemory.region(),
          keyLength,
          tag,
          source,
          block.payload,
          block.payloadLength);
      at = block.next;
    }
    if (at != block.limit || restart != block.restartCount()) {
      throw new IndexOutOfBoundsException(restart + " restarts in use of " + block.restartCount());
    }
  }

  /**
   * Assembles the key of the parsed entry, which must be after the previous one. Returns whether
   * their keys are the same.
   */
  private boolean takeKey(Region source) {
    int shared = block.shared;
    int unshared = block.unshared;
    if (shared > keyLength || unshared > Limits.STORED_KEY_BYTES_MAX - shared) {
      throw new IndexOutOfBoundsException(
          "key of " + shared + " and " + unshared + " bytes after one of " + keyLength);
    }
    if (shared + unshared == 0) {
      throw new IndexOutOfBoundsException("an empty key");
    }
    Region key = keyMemory.ensure(shared + unshared);
    int order = Region.compare(key, shared, keyLength - shared, source, block.suffix, unshared);
    block.parseTail();
    if (hasKey && (order > 0 || (order == 0 && Long.compare(tag, block.tag) <= 0))) {
      problem(
          block.fileOffset,
          "entries in ascending order",
          "entry " + entryCount + " of the table is not behind the one before");
    }
    key.put(shared, source, block.suffix, unshared);
    keyLength = shared + unshared;
    tag = block.tag;
    return hasKey && order == 0;
  }

  /** Throws if no writer produces such a payload. */
  static void requirePayload(BlockView block, Region source) {
    long tag = block.tag;
    int kind = Tag.kind(tag);
    if (tag < 0 || !Tag.isKnown(kind)) {
      throw new IndexOutOfBoundsException("an entry of kind " + kind);
    }
    int rest = block.payloadLength - Payload.headerLength(kind);
    boolean fits = kind == Tag.DELETE ? rest == 0 : rest >= 0 && rest <= Limits.VALUE_BYTES_MAX;
    if (fits && Tag.baseKind(kind) == Tag.POINTER) {
      long at = block.payload + Payload.headerLength(kind);
      fits =
          rest
              == ValuePointer.encodedLength(
                  ValuePointer.segment(source, at),
                  ValuePointer.offset(source, at),
                  ValuePointer.recordLength(source, at),
                  ValuePointer.valueLength(source, at));
    }
    if (!fits) {
      throw new IndexOutOfBoundsException(
          "a payload of " + block.payloadLength + " bytes of kind " + kind);
    }
  }

  private void checkWhereItIsSought(int ordinal) {
    Region key = keyMemory.region();
    TableIndex blocks = index;
    int sought = blocks == null ? ordinal : blocks.find(key, 0, keyLength, tag, block.window);
    if (sought != ordinal) {
      problem(
          at(TableFooter::indexAt),
          "an index that leads to the block at " + block.fileOffset,
          "block " + sought + " instead of " + ordinal);
    }
    BloomFilter known = filter;
    if (known != null && !known.mayContain(KeyHash.of(key, 0, keyLength), filterLine)) {
      problem(
          at(TableFooter::filterAt),
          "a filter that lets all keys of the table pass",
          "one without a key of the block at " + block.fileOffset);
    }
  }

  private void compare(String source, TableMeta said) {
    TableMeta found = counted.build(number, mapping.length());
    String difference = TableFacts.difference(said, found);
    if (difference != null) {
      problem(at(TableFooter::propertiesAt), source + ", counted anew", difference);
    }
  }

  /** Reports the damage of a step; returns whether there was none. */
  private boolean attempt(long offset, Runnable step) {
    try {
      step.run();
      return true;
    } catch (CorruptionException e) {
      problems.accept(e);
    } catch (IndexOutOfBoundsException | NegativeArraySizeException e) {
      problem(offset, "bytes that hold together", String.valueOf(e.getMessage()));
    }
    return false;
  }

  private void problem(long offset, String expected, String found) {
    problems.accept(new CorruptionException(name, offset, expected, found));
  }
}
