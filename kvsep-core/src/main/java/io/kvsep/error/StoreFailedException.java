package io.kvsep.error;

/**
 * A sync of the log, the manifest or the directory failed. The content of the device is then
 * unknown, so the sync is not retried: every later write throws this error with the first cause.
 * Reads continue. Reopening the store recovers what is on the device.
 *
 * <p>The other cause is that the directory of the open store, or its file LOCK, was moved, deleted
 * or replaced; the message names the directory. Every later write throws this error, and so does a
 * read that needs a file not yet open. {@code close()} then writes and deletes nothing.
 * Acknowledged writes are in the store's files, wherever these are now.
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
