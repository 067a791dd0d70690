package io.kvsep.internal.memory;

/**
 * Distinguishes page faults from other instances of {@link InternalError}, of the JVM, a library or
 * user code.
 */
public final class PageFault {
  /** Prefix of the JVM's own messages; the rest depends on the release and the kind of code. */
  private static final String BY_JVM = "a fault occurred in a";

  private static final String BY_PROBE = "a page of a mapping cannot be read";

  private PageFault() {}

  /** For a fault that the JVM may not have reported. */
  static InternalError ofProbe() {
    return new InternalError(BY_PROBE);
  }

  public static boolean is(Throwable error) {
    String message = error.getMessage();
    return error instanceof InternalError
        && error.getCause() == null
        && message != null
        && (message.startsWith(BY_JVM) || message.equals(BY_PROBE));
  }
}
