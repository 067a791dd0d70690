package io.kvsep.error;

/** Use of a closed store, cursor, snapshot or transaction, from any thread at any time. */
public final class StoreClosedException extends KvException {
  private static final long serialVersionUID = 1L;

  public StoreClosedException(String message) {
    super(message, null);
  }
}
