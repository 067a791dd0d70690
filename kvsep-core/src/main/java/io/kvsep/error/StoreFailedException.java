package io.kvsep.error;

/**
 * A sync of the log, the manifest or the directory failed once. What the device holds is unknown
 * from then on, so the sync is never repeated: every later write gets this error with the first
 * cause, reads go on, and closing and opening the store again recovers what really is on the
 * device.
 *
 * <p>Or the directory of the open store, or the file LOCK in it, was moved, deleted or replaced;
 * the message says so and names the directory. Every later write gets this error, and so does a
 * read that needs a file which is not open. {@code close()} writes and deletes nothing. What was
 * acknowledged is in the store's files, wherever they are now.
 */
public final class StoreFailedException extends KvException {
  private static final long serialVersionUID = 1L;

  public StoreFailedException(String message, Throwable cause) {
    super(message, cause);
  }
}
