package io.kvsep.error;

/** The directory is open already, in this process or in another one. Nothing was touched. */
public final class StoreLockedException extends KvException {
  private static final long serialVersionUID = 1L;

  public StoreLockedException(String message) {
    super(message, null);
  }
}
