package io.kvsep.internal.sstable;

import io.kvsep.internal.base.Lz4;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4SafeDecompressor;

/**
 * Packs data blocks in LZ4's raw block format, without their checksum. The checksum of a packed
 * block covers the packed bytes, so damaged data is never unpacked.
 *
 * <pre>
 * offset  bytes  field
 *      0      n  LZ4 block
 *      n      4  unpackedLength
 *    n+4      4  {@link #MARK}, in place of the restart count
 *    n+8      4  checksum       of bytes 0 .. n+7
 * </pre>
 *
 * <p>Not thread safe.
 */
final class PackedBlock {
  /** Not a possible restart count. */
  static final int MARK = 0x8000_0000;

  private static final int UNPACKED_LENGTH_BYTES = 4;

  private static final LZ4Compressor COMPRESSOR = Lz4.compressor();
  private static final LZ4SafeDecompressor DECOMPRESSOR = Lz4.decompressor();

  private final NativeWindow source = new NativeWindow();
  private final NativeWindow target = new NativeWindow();

  /**
   * Packs a sealed block if that saves an eighth.
   *
   * @return length of the packed block, or -1
   */
  int pack(Region block, int length, GrowingRegion packed, long seed, long fileOffset) {
    int count = length - 4;
    int most = COMPRESSOR.maxCompressedLength(count);
    Region into = packed.ensure(most + UNPACKED_LENGTH_BYTES + TableFormat.BLOCK_TRAILER_BYTES);
    int found =
        COMPRESSOR.compress(
            source.over(block, 0, count), 0, count, target.over(into, 0, most), 0, most);
    int packedLength = found + UNPACKED_LENGTH_BYTES + TableFormat.BLOCK_TRAILER_BYTES;
    if (packedLength > worthwhile(length)) {
      return -1;
    }
    into.putInt(found, count);
    into.putInt(found + 4L, MARK);
    long checked = found + 8L;
    into.putInt(checked, TableFormat.checksum(target.crc32c(into, 0, checked), seed, fileOffset));
    return packedLength;
  }

  /** Returns 0 if the trailer is invalid. */
  static long lengthMax(Region table, long trailer) {
    long length = table.getInt(trailer - UNPACKED_LENGTH_BYTES) + 4L;
    return length < TableFormat.BLOCK_TRAILER_BYTES ? 0 : worthwhile(length);
  }

  private static long worthwhile(long length) {
    return length - length / 8;
  }

  /** LZ4 blocks start with literals, first entries with a zero. */
  static boolean mayBegin(Region table, long start, long trailer) {
    int literals = (table.getByte(start) & 0xff) >>> 4;
    long at = start + 1;
    if (literals == 15) {
      while (at < trailer && table.getByte(at) == -1) {
        at++;
      }
      at++;
    }
    return literals > 0 && at < trailer && table.getByte(at) == 0;
  }

  /**
   * For a block with a valid checksum.
   *
   * @param trailer offset of the mark
   * @throws IndexOutOfBoundsException if the length is impossible
   */
  static int unpackedLength(Region table, long start, long trailer) {
    int length = table.getInt(trailer - UNPACKED_LENGTH_BYTES);
    long stored = trailer - UNPACKED_LENGTH_BYTES - start;
    if (length < TableFormat.BLOCK_TRAILER_BYTES || length / Lz4.EXPANSION_MAX > stored) {
      throw new IndexOutOfBoundsException(length + " bytes in a packed block of " + stored);
    }
    return length;
  }

  /**
   * Unpacks to the start of {@code unpacked}.
   *
   * @param length {@link #unpackedLength} of the block
   * @throws IndexOutOfBoundsException if the block is malformed
   */
  void unpack(Region table, long start, long trailer, Region unpacked, int length) {
    int stored = Math.toIntExact(trailer - UNPACKED_LENGTH_BYTES - start);
    int found;
    try {
      found =
          DECOMPRESSOR.decompress(
              source.over(table, start, stored),
              0,
              stored,
              target.over(unpacked, 0, length),
              0,
              length);
    } catch (LZ4Exception e) {
      throw new IndexOutOfBoundsException("no LZ4 block: " + e.getMessage());
    }
    if (found != length) {
      throw new IndexOutOfBoundsException(found + " bytes unpacked of " + length);
    }
  }

  /** Unpacks into a new region. */
  Region unpack(Region table, long start, long trailer, MemoryLedger ledger) {
    int length = unpackedLength(table, start, trailer);
    Region unpacked = ledger.allocate(MemoryPurpose.BLOCK_CACHE, length);
    boolean complete = false;
    try {
      unpack(table, start, trailer, unpacked, length);
      complete = true;
      return unpacked;
    } finally {
      if (!complete) {
        unpacked.free();
      }
    }
  }
}
