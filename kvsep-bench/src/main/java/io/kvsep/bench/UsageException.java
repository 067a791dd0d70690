package io.kvsep.bench;

/** The command line is invalid; the message gives the reason in one line. */
public final class UsageException extends RuntimeException {
  private static final long serialVersionUID = 1;

  public UsageException(String message) {
    super(message);
  }
}
