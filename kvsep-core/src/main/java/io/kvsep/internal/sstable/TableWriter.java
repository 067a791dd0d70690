package io.kvsep.internal.sstable;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/**
 * Writes one table in internal order, see {@link TableFormat}. Owns the file until {@link #close}.
 * Nothing is durable before {@link #finish} returns; a file closed without it is partial, and no
 * reader accepts it.
 *
 * <p>Memory that grows with the table is off-heap and counted as {@link MemoryPurpose#TABLE_BUILD}:
 * a block, an output buffer, eight bytes per distinct key and the index. Not thread safe. After a
 * failure only {@link #close} may be called.
 */
public final class TableWriter implements AutoCloseable {
  private static final int NOT_PACKED = -1;
  private static final int PAYLOAD_BYTES_MAX = Limits.VALUE_BYTES_MAX + Payload.EXPIRY_BYTES;

  private final long number;
  private final TableOptions options;
  private final MemoryLedger ledger;
  private final long seed;
  private final NativeWindow window = new NativeWindow();
  private final TableFileWriter output;
  private final BlockBuilder block;
  private final IndexBuilder index;
  private final MetaBuilder meta = new MetaBuilder();
  private final PackedBlock packing = new PackedBlock();
  private final GrowingRegion packed;
  private final GrowingRegion lastKey;
  private final GrowingRegion hashes;
  private int lastLength;
  private long lastTag;
  private long distinctKeyCount;
  private boolean usable = true;

  /** Takes over {@code file}, which is new and empty. */
  public TableWriter(StorageFile file, long number, TableOptions options, MemoryLedger ledger) {
    this.number = number;
    this.options = options;
    this.ledger = ledger;
    this.seed = TableFormat.checksumSeed(options.storeId(), number);
    this.block = new BlockBuilder(options.restartInterval(), ledger);
    this.index = new IndexBuilder(ledger);
    this.packed = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
    this.lastKey = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
    this.hashes = new GrowingRegion(ledger, MemoryPurpose.TABLE_BUILD);
    this.output = new TableFileWriter(file, ledger, window);
    output.header(options.storeId(), number);
  }

  /**
   * Adds an entry.
   *
   * @throws IllegalArgumentException if the entry is not after the previous one in internal order,
   *     or key, kind or payload are invalid; the table is unchanged
   * @throws StorageException if the write fails
   */
  public void add(
      Region key,
      long keyOffset,
      int keyLength,
      long tag,
      Region payload,
      long payloadOffset,
      int payloadLength) {
    requireUsable();
    int kind = Tag.kind(tag);
    if (keyLength < 1 || keyLength > Limits.STORED_KEY_BYTES_MAX) {
      throw new IllegalArgumentException("keyLength=" + keyLength);
    }
    if (tag < 0 || !Tag.isKnown(kind)) {
      throw new IllegalArgumentException("tag=" + tag);
    }
    if (payloadLength < Payload.headerLength(kind) || payloadLength > PAYLOAD_BYTES_MAX) {
      throw new IllegalArgumentException("kind=" + kind + ", payloadLength=" + payloadLength);
    }
    int common = commonWithLast(key, keyOffset, keyLength, tag);
    boolean sameKey = common == keyLength && common == lastLength;
    usable = false;
    if (!block.isEmpty()
        && block.bytes() + block.entryBytes(keyLength, common, tag, payloadLength)
            > options.blockBytes()) {
      endBlock(key, keyOffset, keyLength, common);
    }
    block.add(key, keyOffset, keyLength, common, tag, payload, payloadOffset, payloadLength);
    if (!sameKey) {
      hashes
          .ensure((distinctKeyCount + 1) * 8)
          .putLong(distinctKeyCount * 8, KeyHash.of(key, keyOffset, keyLength));
      distinctKeyCount++;
    }
    if (meta.entryCount() == 0) {
      meta.smallestKey(key.getBytes(keyOffset, keyLength));
    }
    meta.add(keyLength, sameKey, tag, payload, payloadOffset);
    lastKey.ensure(keyLength).put(common, key, keyOffset + common, keyLength - common);
    lastLength = keyLength;
    lastTag = tag;
    usable = true;
  }

  public void add(InternalIterator entry) {
    add(
        entry.keyRegion(),
        entry.keyOffset(),
        entry.keyLength(),
        entry.tag(),
        entry.payloadRegion(),
        entry.payloadOffset(),
        entry.payloadLength());
  }

  /** Estimate for a table that ends here. */
  public long fileBytesEstimate() {
    long data = output.position() + (block.isEmpty() ? 0 : block.bytes());
    return data
        + BloomFilter.sectionBytes(data, distinctKeyCount, options.filterBitsPerKey())
        + index.bytesEstimate()
        + TableFormat.FOOTER_BYTES;
  }

  public long entryCount() {
    return meta.entryCount();
  }

  /** Requires an entry. */
  public byte[] lastKey() {
    return lastKey.region().getBytes(0, lastLength);
  }

  public TableMeta finish() throws IOException {
    return finish(RangeTombstones.NONE);
  }

  /**
   * Completes the file and makes its contents durable, but not its name. A table has at least one
   * entry, so one of deleted ranges only gets a tombstone for the first key of the first range,
   * which covers it anyway.
   *
   * @throws IllegalStateException if the table is empty
   */
  public TableMeta finish(RangeTombstones ranges) throws IOException {
    TableMeta table = finishUnsynced(ranges);
    output.sync();
    return table;
  }

  /** As {@link #finish(RangeTombstones)}; the caller makes the contents durable. */
  public TableMeta finishUnsynced(RangeTombstones ranges) throws IOException {
    requireUsable();
    if (meta.entryCount() == 0 && !ranges.isEmpty()) {
      byte[] start = ranges.start(0);
      Region key = lastKey.ensure(start.length);
      key.put(0, start, 0, start.length);
      add(key, 0, start.length, Tag.of(ranges.sequences(0)[0], Tag.DELETE), key, 0, 0);
    }
    if (meta.entryCount() == 0) {
      throw new IllegalStateException("a table has at least one entry");
    }
    usable = false;
    long lastBlock = output.position();
    writeBlock();
    index.add(lastBlock, /* tag= */ 0, lastKey.region(), lastLength);
    Region footer = ledger.allocate(MemoryPurpose.TABLE_BUILD, TableFormat.FOOTER_BYTES);
    try {
      long dataEnd = output.position();
      writeFilter(footer);
      writeIndex(footer, dataEnd);
      meta.largestKey(lastKey.region().getBytes(0, lastLength));
      meta.add(ranges);
      Region properties =
          TableProperties.encode(meta.build(number, 0), ranges, options.loaded(), ledger);
      writeSection(properties, footer, TableFormat.FOOTER_PROPERTIES);
      TableFormat.sealFooter(footer, seed, output.position(), window);
      output.write(footer, TableFormat.FOOTER_BYTES);
    } finally {
      footer.free();
    }
    output.flush();
    return meta.build(number, output.position());
  }

  /**
   * @throws StorageException if the file cannot be closed
   */
  @Override
  public void close() {
    usable = false;
    block.close();
    index.close();
    packed.close();
    lastKey.close();
    hashes.close();
    output.close();
  }

  /** Leading bytes shared with the last key, which must be before this one. */
  private int commonWithLast(Region key, long keyOffset, int keyLength, long tag) {
    Region last = lastKey.region();
    int common = Region.commonPrefix(last, 0, lastLength, key, keyOffset, keyLength);
    boolean ascending;
    if (common == lastLength) {
      ascending = common < keyLength || tag < lastTag;
    } else {
      ascending =
          common < keyLength
              && (last.getByte(common) & 0xff) < (key.getByte(keyOffset + common) & 0xff);
    }
    if (!ascending) {
      throw new IllegalArgumentException(
          "entry " + meta.entryCount() + " is not after the one before it");
    }
    return common;
  }

  private void endBlock(Region nextKey, long nextOffset, int nextLength, int common) {
    long offset = output.position();
    try {
      writeBlock();
    } catch (IOException e) {
      throw new StorageException("cannot write table " + number, e);
    }
    if (common < lastLength) {
      index.addBetween(
          offset, lastKey.region(), lastLength, nextKey, nextOffset, nextLength, common);
    } else {
      index.add(offset, common == nextLength ? lastTag : 0, lastKey.region(), lastLength);
    }
  }

  private void writeBlock() throws IOException {
    long offset = output.position();
    int length = block.seal(seed, offset, window);
    int packedLength =
        options.packsBlocks()
            ? packing.pack(block.region(), length, packed, seed, offset)
            : NOT_PACKED;
    if (packedLength == NOT_PACKED) {
      output.write(block.region(), length);
    } else {
      output.write(packed.region(), packedLength);
    }
    block.clear();
  }

  private void writeFilter(Region footer) throws IOException {
    long offset = output.position();
    long length = BloomFilter.sectionBytes(offset, distinctKeyCount, options.filterBitsPerKey());
    Region section = ledger.allocate(MemoryPurpose.TABLE_BUILD, length);
    BloomFilter.fill(
        section, offset, hashes.region(), distinctKeyCount, options.filterBitsPerKey());
    hashes.close();
    writeSection(section, footer, TableFormat.FOOTER_FILTER);
  }

  private void writeIndex(Region footer, long dataEnd) throws IOException {
    long offset = output.position();
    Region section = ledger.allocate(MemoryPurpose.TABLE_BUILD, index.sectionBytes(offset));
    index.fill(section, offset, dataEnd);
    index.close();
    writeSection(section, footer, TableFormat.FOOTER_INDEX);
  }

  /** Frees {@code section}. */
  private void writeSection(Region section, Region footer, int footerAt) throws IOException {
    try {
      long offset = output.position();
      long length = section.length();
      int checksum = TableFormat.checksum(window.crc32c(section, 0, length), seed, offset);
      TableFormat.putSection(footer, footerAt, offset, length, checksum);
      output.write(section, length);
    } finally {
      section.free();
    }
  }

  private void requireUsable() {
    if (!usable) {
      throw new IllegalStateException("table " + number + " is finished, failed or closed");
    }
  }
}
