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
 * Packs and unpacks data blocks with LZ4's raw block format. What is packed is all of a block in
 * front of its checksum; the checksum is that of the packed bytes, so that nothing unsound is ever
 * unpacked.
 *
 * <pre>
 * offset  bytes  field
 *      0      n  LZ4 block
 *      n      4  unpackedLength
 *    n+4      4  {@link #MARK}, where other blocks have their number of restarts
 *    n+8      4  checksum       of bytes 0 .. n+7
 * </pre>
 *
 * Not thread safe; each writer, iterator and lookup slot has its own.
 */
final class PackedBlock {
  /** No block has so many restarts. */
  static final int MARK = 0x8000_0000;

  private static final int UNPACKED_LENGTH_BYTES = 4;

  private static final LZ4Compressor COMPRESSOR = Lz4.compressor();
  private static final LZ4SafeDecompressor DECOMPRESSOR = Lz4.decompressor();

  private final NativeWindow source = new NativeWindow();
  private final NativeWindow target = new NativeWindow();

  /**
   * Packs a sealed block of {@code length} bytes into {@code packed} if that saves an eighth.
   *
   * @return the length of the packed block, -1 when it does not pay
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

  /** The most bytes that a packed block with this trailer takes, 0 if there is none. */
  static long lengthMax(Region table, long trailer) {
    long length = table.getInt(trailer - UNPACKED_LENGTH_BYTES) + 4L;
    return length < TableFormat.BLOCK_TRAILER_BYTES ? 0 : worthwhile(length);
  }

  private static long worthwhile(long length) {
    return length - length / 8;
  }

  /**
   * Whether a packed block may begin here: an LZ4 block begins with literals, and the first entry
   * with a zero.
   */
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
   * Bytes that a packed block whose checksum holds unpacks to.
   *
   * @param trailer offset of the mark
   * @throws IndexOutOfBoundsException when it cannot be so many
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
   * Unpacks into the first bytes of {@code unpacked}, which has {@link #unpackedLength} of them.
   *
   * @throws IndexOutOfBoundsException when the block does not hold together
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

  /** As above, into memory of its own. */
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
