package io.kvsep.internal.base;

import java.lang.reflect.InvocationTargetException;
import net.jpountz.lz4.LZ4Compressor;
import net.jpountz.lz4.LZ4Factory;
import net.jpountz.lz4.LZ4SafeDecompressor;

/**
 * Which of lz4-java's implementations is used. Stateless and thread safe.
 *
 * <p>The native code that it carries is three times as fast as its Java code, but from JDK 24 on
 * loading it prints a warning unless the program was started with native access. It is used where
 * that makes no noise; both produce and read the same raw block format.
 */
public final class Lz4 {
  /** The most bytes that one of a block can become; nobody makes room for more than that. */
  public static final int EXPANSION_MAX = 255;

  private static final LZ4Factory FACTORY = chooseFactory();

  private Lz4() {}

  public static LZ4Compressor compressor() {
    return FACTORY.fastCompressor();
  }

  /** One that never reads or writes outside what it is given. */
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
