package io.kvsep.internal.runtime;

import io.kvsep.error.StorageException;
import io.kvsep.internal.memory.Region;

/**
 * A page of a mapped file that the device could not give. The JVM raises an {@link InternalError},
 * often as late as when the method that read has returned; so it is caught where calls of users
 * come in, and not where the page is read. Where that would be too late, {@link
 * Region#requirePagesRead} has it raised.
 */
public final class UnreadablePage {
  private UnreadablePage() {}

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

  public static StorageException error(InternalError cause) {
    return new StorageException("cannot read a page of a mapped file", cause);
  }
}
