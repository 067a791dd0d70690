package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * The verified footer of a table; reads and verifies the sections that follow the blocks. Each ends
 * where the next one begins, see {@link TableFormat}.
 *
 * @param at its start, where the properties end
 */
record TableFooter(TableBytes bytes, long at, long filterAt, long indexAt, long propertiesAt) {
  static TableFooter read(TableBytes bytes, NativeWindow window) {
    Region table = bytes.mapping();
    long at = table.length() - TableFormat.FOOTER_BYTES;
    if (at < TableFormat.HEADER_BYTES) {
      throw new CorruptionException(bytes.name(), table.length(), "a footer", "end of file");
    }
    bytes.load(at, TableFormat.FOOTER_BYTES);
    requireChecksum(bytes, at, 48, table.getInt(at + 48), window);
    int version = table.getInt(at + 36);
    if (version != TableFormat.KIND.version() || table.getLong(at + 40) != TableFormat.MAGIC) {
      throw new CorruptionException(
          bytes.name(),
          at,
          "a footer of version " + TableFormat.KIND.version(),
          "version " + version);
    }
    return new TableFooter(
        bytes,
        at,
        unsigned(table, at + TableFormat.FOOTER_FILTER),
        unsigned(table, at + TableFormat.FOOTER_INDEX),
        unsigned(table, at + TableFormat.FOOTER_PROPERTIES));
  }

  BloomFilter filter(NativeWindow window) {
    verify(TableFormat.FOOTER_FILTER, indexAt, window);
    return BloomFilter.of(bytes, filterAt, indexAt);
  }

  TableIndex index(NativeWindow window) {
    verify(TableFormat.FOOTER_INDEX, propertiesAt, window);
    return new TableIndex(bytes, indexAt, propertiesAt, filterAt);
  }

  TableProperties.Contents properties(long number, NativeWindow window) {
    verify(TableFormat.FOOTER_PROPERTIES, at, window);
    return TableProperties.decode(bytes.mapping(), propertiesAt, at, number);
  }

  private void verify(int section, long limit, NativeWindow window) {
    Region table = bytes.mapping();
    long entry = at + section;
    long offset = unsigned(table, entry);
    long length = unsigned(table, entry + 4);
    if (offset > limit || limit > at || limit - offset != length) {
      throw new CorruptionException(
          bytes.name(), entry, "a section that ends at " + limit, length + " bytes at " + offset);
    }
    requireChecksum(bytes, offset, length, table.getInt(entry + 8), window);
  }

  private static void requireChecksum(
      TableBytes bytes, long offset, long length, int expected, NativeWindow window) {
    int crc = window.crc32c(bytes.mapping(), offset, length);
    int found = TableFormat.checksum(crc, bytes.checksumSeed(), offset);
    if (found != expected) {
      throw TableFormat.checksumMismatch(bytes.name(), offset, expected, found);
    }
  }

  private static long unsigned(Region table, long at) {
    return table.getInt(at) & 0xffff_ffffL;
  }
}
