package io.kvsep.error;

/** A write on a store opened read-only. Nothing was written; the store can still be read. */
public final class ReadOnlyStoreException extends KvException {
  private static final long serialVersionUID = 1L;

  /** Creates the exception. */
  public ReadOnlyStoreException() {
    super("the store is open for reading only", null);
  }
}
