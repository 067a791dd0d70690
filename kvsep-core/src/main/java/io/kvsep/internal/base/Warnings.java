package io.kvsep.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * Logs warnings of a store to the logger {@code io.kvsep}. Failures are ignored: handlers of the
 * application may throw, memory may run out, and neither may break the caller, which may be
 * handling an error.
 */
public final class Warnings {
  private Warnings() {}

  /** Logs {@code what} followed by {@code about}; returns whether it succeeded. */
  public static boolean tell(String what, @Nullable Object about) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what + about);
      return true;
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  /** Logs {@code what} with the stack trace of the cause. */
  public static void tellWithTrace(String what, Throwable cause) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what, cause);
    } catch (RuntimeException | Error e) {
      // There is no other place to report it.
      return;
    }
  }
}
