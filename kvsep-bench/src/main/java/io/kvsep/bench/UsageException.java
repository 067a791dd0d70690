package io.kvsep.bench;

/** The command line cannot be understood; the message says why in one line. */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public UsageException(String message) {
    super(message);
  }
}
