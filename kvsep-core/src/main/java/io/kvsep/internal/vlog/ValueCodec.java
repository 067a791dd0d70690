package io.kvsep.internal.vlog;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Lz4;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.NativeWindow;
import java.nio.ByteBuffer;
import java.util.Arrays;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Exception;
import net.jpountz.lz4.LZ4SafeDecompressor;
import org.jspecify.annotations.Nullable;

/**
 * LZ4 compression of single values. A failed trial is most of the work on a value: after a run of
 * incompressible values some are skipped, more after each further failure, until a success. Not
 * thread safe, except for decompression.
 */
final class ValueCodec {
  private static final LZ4Compressor COMPRESSOR = Lz4.compressor();
  private static final LZ4SafeDecompressor DECOMPRESSOR = Lz4.decompressor();

  /** Such a run is rare if one value in ten is compressible. */
  private static final int FAILURES_MAX = 64;

  private static final int SKIPPED_MAX = 15;

  private int failures;
  private int skipped;
  private int toSkip;

  /**
   * Compresses {@code value} to the start of {@code target} if that saves an eighth.
   *
   * @return bytes written, -1 if it saves less or was not tried
   */
  int compress(ByteBuffer value, GrowingRegion target, NativeWindow window) {
    if (!isDue()) {
      return -1;
    }
    int length = value.remaining();
    // The worst case: the compressor throws if the target is too short, which costs more than
    // compressing an incompressible value.
    int most = COMPRESSOR.maxCompressedLength(length);
    ByteBuffer into = window.over(target.ensure(most), 0, most);
    int found = COMPRESSOR.compress(value, value.position(), length, into, into.position(), most);
    boolean shorter = found <= worthwhileLength(length);
    tried(shorter);
    return shorter ? found : -1;
  }

  /**
   * Compresses to the heap, or returns null. For values too large for scratch space, where an
   * occasional exception does not matter.
   */
  byte @Nullable [] compress(byte[] value, int offset, int length) {
    if (!isDue()) {
      return null;
    }
    byte[] target = new byte[worthwhileLength(length)];
    try {
      int found = COMPRESSOR.compress(value, offset, length, target, 0, target.length);
      tried(/* gotShorter= */ true);
      return Arrays.copyOf(target, found);
    } catch (LZ4Exception e) {
      tried(/* gotShorter= */ false);
      return null;
    }
  }

  /** The caller reports the result of the trial to {@link #tried}. */
  boolean isDue() {
    if (toSkip > 0) {
      toSkip--;
      return false;
    }
    return true;
  }

  void tried(boolean gotShorter) {
    if (gotShorter) {
      failures = 0;
      skipped = 0;
    } else if (++failures >= FAILURES_MAX) {
      skipped = Math.min(SKIPPED_MAX, 2 * skipped + 1);
      toSkip = skipped;
    }
  }

  private static int worthwhileLength(int length) {
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
