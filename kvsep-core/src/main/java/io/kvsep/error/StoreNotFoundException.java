package io.kvsep.error;

/** There is no store in the directory, and the call may not create one. Nothing was changed. */
public final class StoreNotFoundException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param directory where there is no store
   */
  public StoreNotFoundException(String directory) {
    super("no store in " + directory, null);
  }
}
