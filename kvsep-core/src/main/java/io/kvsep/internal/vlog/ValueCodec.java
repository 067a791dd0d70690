package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Lz4;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import java.nio.ByteBuffer;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4SafeDecompressor;

/** LZ4 compression of single values. Stateless and thread safe. */
public final class ValueCodec {
  private static final LZ4Compressor COMPRESSOR = Lz4.compressor();
  private static final LZ4SafeDecompressor DECOMPRESSOR = Lz4.decompressor();

  private ValueCodec() {}

  /**
   * Compresses {@code value} to the start of {@code target} if that saves at least an eighth.
   *
   * @return bytes written, -1 if it saves less
   */
  static int compress(ByteBuffer value, GrowingRegion target, NativeWindow window) {
    int length = value.remaining();
    // For the worst case: the compressor throws if the target is too short, which would make each
    // incompressible value cost more than compressing it.
    int most = COMPRESSOR.maxCompressedLength(length);
    ByteBuffer into = window.over(target.ensure(most), 0, most);
    int found = COMPRESSOR.compress(value, value.position(), length, into, into.position(), most);
    return found <= worthwhileLength(length) ? found : -1;
  }

  /**
   * As above, into an array of the longest acceptable length; for values too large for scratch
   * space, where an occasional exception does not matter.
   */
  static int compress(ByteBuffer value, byte[] target) {
    ByteBuffer into = ByteBuffer.wrap(target);
    try {
      return COMPRESSOR.compress(
          value, value.position(), value.remaining(), into, 0, target.length);
    } catch (LZ4Exception e) {
      return -1;
    }
  }

  /** Longest acceptable compressed length. */
  static int worthwhileLength(int length) {
    return length - length / 8;
  }

  /** Decompresses one block of exactly {@code into.remaining()} bytes. */
  static void decompress(ByteBuffer stored, ByteBuffer into, String file, long offset) {
    int expected = into.remaining();
    int found;
    try {
      found =
          DECOMPRESSOR.decompress(
              stored, stored.position(), stored.remaining(), into, into.position(), expected);
    } catch (LZ4Exception e) {
      throw new CorruptionException(file, offset, "an LZ4 block", String.valueOf(e.getMessage()));
    }
    if (found != expected) {
      throw new CorruptionException(file, offset, expected + " bytes", found + " bytes");
    }
  }
}
