package io.kvsep.error;

/**
 * A sync of the log, the manifest or the directory failed. The content of the device is unknown
 * from then on, so the sync is never retried: every later write throws this error with the first
 * cause. Reads continue. Closing and reopening the store recovers what is on the device.
 *
 * <p>Also thrown if the directory of the open store, or the file LOCK in it, was moved, deleted or
 * replaced; the message says so and names the directory. Every later write throws this error, and
 * so does a read that needs a file that is not open. {@code close()} then writes and deletes
 * nothing. Acknowledged writes are in the store's files, wherever these are now.
 */
public final class StoreFailedException extends KvException {
  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what happened
   * @param cause the error that caused it
   */
  public StoreFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
