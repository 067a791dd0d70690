package io.kvsep.bench;

/** The command line cannot be understood; the message says why in one line. */
final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1;

  UsageException(String message) {
    super(message);
  }
}
