package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.Region;

/**
 * A blocked Bloom filter (F. Putze, P. Sanders, J. Singler, Cache-, hash- and space-efficient Bloom
 * filters, 2007): all bits of a key lie in one block of 64 bytes, so that a question costs at most
 * one cache miss. The upper half of the key's hash picks the block; the whole hash, multiplied by
 * an odd constant, gives nine bits for each probe, from the top down.
 *
 * <p>Immutable; the bits belong to the table's mapping. With 10 bits and 6 probes for each key
 * about 1 % of absent keys are reported as possibly present.
 */
final class BloomFilter {
  private static final int BLOCK_BYTES = 64;
  private static final int BITS_PER_PROBE = 9;

  /** As many nine-bit numbers as 64 bits hold. */
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

  /** Takes the section [{@code offset}, {@code limit}) of a table, whose checksum holds. */
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
   * Whether a key with this hash may be in the table; false is certain.
   *
   * @param line of {@link Region#LINE_LONGS}; takes the block, so that a page of the table that
   *     cannot be read is no answer
   * @throws InternalError for such a page
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

  /** Length of the section for {@code keyCount} keys when it begins at {@code fileOffset}. */
  static long sectionBytes(long fileOffset, long keyCount, int bitsPerKey) {
    return TableFormat.padding(fileOffset, TableFormat.FILTER_ALIGNMENT)
        + blocksFor(keyCount, bitsPerKey) * BLOCK_BYTES
        + TRAILER_BYTES;
  }

  /**
   * Fills {@code section}, all zeros and {@link #sectionBytes} long.
   *
   * @param hashes the hash of each key, 8 bytes each
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

  /**
   * Somewhat below the ln 2 of a plain Bloom filter: crowded blocks want fewer bits for each key.
   */
  private static int probesFor(int bitsPerKey) {
    return Math.max(1, Math.min(PROBES_MAX, bitsPerKey * 3 / 5));
  }
}
