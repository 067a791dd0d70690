package io.kvsep.error;

/**
 * A sync of the log, the manifest or the directory failed once. What the device holds is unknown
 * from then on, so the sync is never repeated: every later write gets this error with the first
 * cause, reads go on, and closing and opening the store again recovers what really is on the
 * device.
 */
public final class StoreFailedException extends KvException {
  private static final long serialVersionUID = 1L;

  public StoreFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
