package io.kvsep.error;

/** Use of a closed store, cursor, snapshot or transaction, by any thread. */
public final class StoreClosedException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   */
  public StoreClosedException(String message) {
    super(message, null);
  }
}
