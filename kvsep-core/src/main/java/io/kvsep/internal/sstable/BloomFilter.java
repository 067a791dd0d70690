package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;

/**
 * A blocked Bloom filter (F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom
 * filters, 2007): all bits of a key are in one block of 64 bytes, so a query costs at most one
 * cache miss. The upper half of the key's hash selects the block; the hash times an odd constant
 * yields nine bits per probe, from the top.
 *
 * <p>The bits belong to the table's mapping. At 10 bits per key (6 probes), about 1 % of absent
 * keys pass.
 */
final class BloomFilter {
  private static final int BLOCK_BYTES = 64;
  private static final int BITS_PER_PROBE = 9;

  /** Nine-bit numbers in 64 bits. */
  private static final int PROBES_MAX = 7;

  private static final int TRAILER_BYTES = 8;
  private static final long PROBE_MULTIPLIER = 0xd6e8feb86659fd93L;

  private final TableBytes table;
  private final long bits;
  private final int blockCount;
  private final int probes;

  private BloomFilter(TableBytes table, long bits, int blockCount, int probes) {
    this.table = table;
    this.bits = bits;
    this.blockCount = blockCount;
    this.probes = probes;
  }

  /** The section [{@code offset}, {@code limit}) is verified. */
  static BloomFilter of(TableBytes file, long offset, long limit) {
    Region table = file.mapping();
    long bits = offset + TableFormat.padding(offset, TableFormat.FILTER_ALIGNMENT);
    int blockCount = table.getInt(limit - 8);
    int probes = table.getInt(limit - 4);
    if (blockCount < 1
        || limit - TRAILER_BYTES - bits != (long) BLOCK_BYTES * blockCount
        || probes < 1
        || probes > PROBES_MAX) {
      throw new CorruptionException(
          file.name(),
          offset,
          "a filter of " + (limit - offset) + " bytes",
          blockCount + " blocks, " + probes + " probes");
    }
    return new BloomFilter(file, bits, blockCount, probes);
  }

  /**
   * False is certain.
   *
   * @param line {@link Region#LINE_LONGS} long; receives the block, so that an unreadable page
   *     yields no answer
   * @throws InternalError if the page cannot be read
   */
  boolean mayContain(long hash, long[] line) {
    long block = bits + blockOf(hash, blockCount) * BLOCK_BYTES;
    table.load(block, BLOCK_BYTES);
    table.mapping().copyLine(block, line);
    long rest = hash * PROBE_MULTIPLIER;
    for (int i = 0; i < probes; i++) {
      long bit = rest >>> (64 - BITS_PER_PROBE);
      if ((line[(int) (bit >>> 6)] >>> bit & 1) == 0) {
        return false;
      }
      rest <<= BITS_PER_PROBE;
    }
    return true;
  }

  /** Length of the section at {@code fileOffset}. */
  static long sectionBytes(long fileOffset, long keyCount, int bitsPerKey) {
    return TableFormat.padding(fileOffset, TableFormat.FILTER_ALIGNMENT)
        + blocksFor(keyCount, bitsPerKey) * BLOCK_BYTES
        + TRAILER_BYTES;
  }

  /**
   * @param section zeroed, {@link #sectionBytes} long
   * @param hashes 8 bytes per key
   */
  static void fill(Region section, long fileOffset, Region hashes, long keyCount, int bitsPerKey) {
    long first = TableFormat.padding(fileOffset, TableFormat.FILTER_ALIGNMENT);
    int blockCount = Math.toIntExact(blocksFor(keyCount, bitsPerKey));
    int probes = probesFor(bitsPerKey);
    for (long i = 0; i < keyCount; i++) {
      long hash = hashes.getLong(i * 8);
      long block = first + blockOf(hash, blockCount) * BLOCK_BYTES;
      long rest = hash * PROBE_MULTIPLIER;
      for (int probe = 0; probe < probes; probe++) {
        long bit = rest >>> (64 - BITS_PER_PROBE);
        long word = block + (bit >>> 6 << 3);
        section.putLong(word, section.getLong(word) | 1L << bit);
        rest <<= BITS_PER_PROBE;
      }
    }
    long trailer = first + (long) blockCount * BLOCK_BYTES;
    section.putInt(trailer, blockCount);
    section.putInt(trailer + 4, probes);
  }

  private static long blockOf(long hash, int blockCount) {
    return ((hash >>> 32) * blockCount) >>> 32;
  }

  private static long blocksFor(long keyCount, int bitsPerKey) {
    long bitsPerBlock = 8L * BLOCK_BYTES;
    return Math.max(1, (keyCount * bitsPerKey + bitsPerBlock - 1) / bitsPerBlock);
  }

  /** Below the ln 2 of a plain Bloom filter: crowded blocks favour fewer bits per key. */
  private static int probesFor(int bitsPerKey) {
    return Math.max(1, Math.min(PROBES_MAX, bitsPerKey * 3 / 5));
  }
}
