package io.kvsep.internal.memory;

/**
 * Tells the error by which a page of a mapping that cannot be read becomes known from all others of
 * its class, which the JVM, a library or code of users may throw for anything.
 */
public final class PageFault {
  /** How the JVM's own messages begin; what follows depends on the release and the kind of code. */
  private static final String BY_JVM = "a fault occurred in a";

  private static final String BY_PROBE = "a page of a mapping cannot be read";

  private PageFault() {}

  /** Of a page that the JVM is not known to have told about. */
  static InternalError ofProbe() {
    return new InternalError(BY_PROBE);
  }

  /** Whether this error is one of a page that could not be read. */
  public static boolean is(InternalError error) {
    String message = error.getMessage();
    return error.getCause() == null
        && message != null
        && (message.startsWith(BY_JVM) || message.equals(BY_PROBE));
  }
}
