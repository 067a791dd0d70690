package io.kvsep.internal.base;

import java.lang.reflect.InvocationTargetException;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/**
 * Selects the lz4-java implementation. Thread safe.
 *
 * <p>Native code is three times as fast as Java code, but from JDK 24 on loading it prints a
 * warning unless native access is enabled; then Java code is used. Both have the same raw block
 * format.
 */
public final class Lz4 {
  /** Maximum expansion of one byte; bounds allocations for untrusted lengths. */
  public static final int EXPANSION_MAX = 255;

  private static final LZ4Factory FACTORY = chooseFactory();

  private Lz4() {}

  public static LZ4Compressor compressor() {
    return FACTORY.fastCompressor();
  }

  /** Never reads or writes outside its buffers. */
  public static LZ4SafeDecompressor decompressor() {
    return FACTORY.safeDecompressor();
  }

  private static LZ4Factory chooseFactory() {
    if (Runtime.version().feature() < 24 || isNativeAccessEnabled()) {
      LZ4Factory fastest = LZ4Factory.fastestInstance();
      return fastest.toString().contains("JNI") ? fastest : LZ4Factory.safeInstance();
    }
    return LZ4Factory.safeInstance();
  }

  private static boolean isNativeAccessEnabled() {
    try {
      Module module = LZ4Factory.class.getModule();
      return (boolean) Module.class.getMethod("isNativeAccessEnabled").invoke(module);
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      return false;
    }
  }
}
