package io.kvsep.error;

/** The directory is already open, in this or another process. Nothing was changed. */
public final class StoreLockedException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   */
  public StoreLockedException(String message) {
    super(message, null);
  }
}
