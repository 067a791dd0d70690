package io.kvsep.internal.base;

import org.jspecify.annotations.Nullable;

/**
 * What a store tells the log of the JVM, logger {@code io.kvsep}. Behind that are handlers of the
 * user, which may throw, and there may be no memory for what is said: nobody's work may end with
 * that, least of all in the middle of getting over an error.
 */
public final class Warnings {
  private Warnings() {}

  /** Says {@code what} with {@code about} behind it; whether it could. */
  public static boolean tell(String what, @Nullable Object about) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what + about);
      return true;
    } catch (RuntimeException | Error e) {
      return false;
    }
  }

  /** Says {@code what} with the cause and where it came from. */
  public static void tellWithTrace(String what, Throwable cause) {
    try {
      System.getLogger("io.kvsep").log(System.Logger.Level.WARNING, what, cause);
    } catch (RuntimeException | Error e) {
      // There is nobody else to tell.
      return;
    }
  }
}
