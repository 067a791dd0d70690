package io.kvsep.internal.memory;

import io.kvsep.error.StorageException;

/**
 * A page of a mapped file that the device could not give. The JVM raises an {@link InternalError},
 * often as late as when the method that read has returned; so it is caught where calls of users
 * come in, and not where the page is read. Where that would be too late, {@link
 * Region#requirePagesRead} has it raised. Other errors of that class, as code of users may throw
 * them, pass through as they are.
 */
public final class PageFaults {
  private PageFaults() {}

  /**
   * Asks, as {@link Region#requirePagesRead}.
   *
   * @throws StorageException if there was one
   */
  public static void requireNone() {
    try {
      Region.requirePagesRead();
    } catch (InternalError e) {
      throw error(e);
    }
  }

  /**
   * What to throw in place of an error.
   *
   * @throws InternalError the error itself, if it is not one of such a page
   */
  public static StorageException error(InternalError cause) {
    return error("cannot read a page of a mapped file", cause);
  }

  /** As {@link #error(InternalError)}, also of what the device refused otherwise. */
  public static StorageException error(String message, Throwable cause) {
    if (cause instanceof InternalError error && !PageFault.is(error)) {
      throw error;
    }
    return new StorageException(message, cause);
  }
}
