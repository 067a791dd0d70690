package io.kvsep.error;

/** A transaction conflicts with one that committed first. Nothing was written; retry. */
public final class ConflictException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   */
  public ConflictException(String message) {
    super(message, null);
  }
}
