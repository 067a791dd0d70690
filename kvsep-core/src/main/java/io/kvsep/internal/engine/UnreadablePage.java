package io.kvsep.internal.engine;

import io.kvsep.error.StorageException;

/**
 * A page of a mapped file that the device could not give. The JVM raises an {@link InternalError},
 * often as late as when the method that read has returned; so it is caught where calls of users
 * come in, and not where the page is read. On Java 17 it can be later still; until then the reader
 * goes on with bytes that are not those of the page.
 */
public final class UnreadablePage {
  /** Not final, so that no compiler knows the length. */
  private static int one = 1;

  private UnreadablePage() {}

  public static StorageException error(InternalError cause) {
    return new StorageException("cannot read a page of a mapped file", cause);
  }

  /**
   * Raises the error now if one is pending, for those on whose answer a write depends. JVMs look
   * for it when they come back to Java code from their runtime, which alone makes arrays of two
   * dimensions. Costs about a tenth of a microsecond and a few bytes of garbage.
   */
  static void raisePending() {
    byte[][] made = new byte[one][one];
    if (made.length != one) {
      throw new AssertionError("an array of another length");
    }
  }
}
