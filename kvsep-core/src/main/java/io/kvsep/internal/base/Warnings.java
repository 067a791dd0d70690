package io.kvsep.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * Logs warnings to the logger {@code io.kvsep}. Ignores failures of the application's handlers or
 * for lack of memory, because the caller may be handling an error.
 */
public final class Warnings {
  private Warnings() {}

  /** Returns whether it succeeded. */
  public static boolean tell(String what, @Nullable Object about) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what + about);
      return true;
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  public static void tellWithTrace(String what, Throwable cause) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what, cause);
    } catch (RuntimeException | Error e) {
      // No other place to report it.
      return;
    }
  }
}
