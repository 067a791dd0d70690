package io.kvsep.error;

/**
 * A call that writes, on a store that was opened for reading only. Nothing was written, and the
 * store can be read as before. As the mistake of the calling code that it is, it is no {@link
 * KvException}; it has a type so that nobody has to look at its text.
 */
public final class ReadOnlyStoreException extends IllegalStateException {
  private static final long serialVersionUID = 1L;

  public ReadOnlyStoreException() {
    super("the store is open for reading only");
  }
}
