package io.kvsep.error;

/**
 * A write on a store that was opened read-only. Nothing was written; the store can still be read.
 * Not a {@link KvException}, because it is a programming error; it has its own type so that callers
 * need not parse the message.
 */
public final class ReadOnlyStoreException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  /** Creates the exception. */
  public ReadOnlyStoreException() {
    super("the store is open for reading only");
  }
}
