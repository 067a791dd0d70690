package io.kvsep.error;

/**
 * The store has failed: every later write throws this error with the first cause. Reads continue.
 * Reopening the store recovers what is on the device. Causes:
 *
 * <ul>
 *   <li>A sync of the log, the manifest or the directory failed. The content of the device is then
 *       unknown, so the sync is not retried.
 *   <li>A commit failed when its bytes were in the log already, or a change of the store's files
 *       when it was durable already.
 *   <li>Any {@link Error}, as for want of memory, in a commit or a background job.
 *   <li>The directory of the open store, or its file LOCK, was moved, deleted or replaced; the
 *       message names the directory. A read that needs a file not yet open also throws this error,
 *       and {@code close()} writes and deletes nothing. Acknowledged writes are in the store's
 *       files, wherever these are now.
 * </ul>
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
