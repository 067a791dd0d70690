package io.kvsep.internal.engine;

import io.kvsep.error.StorageException;

/**
 * A page of a mapped file that the device could not give. The JVM raises an {@link InternalError},
 * often as late as when the method that read has returned; so it is caught where calls of users
 * come in, and not where the page is read. Where that would be too late, {@link
 * io.kvsep.internal.memory.Region#requirePagesRead} has it raised.
 */
public final class UnreadablePage {
  private UnreadablePage() {}

  public static StorageException error(InternalError cause) {
    return new StorageException("cannot read a page of a mapped file", cause);
  }
}
