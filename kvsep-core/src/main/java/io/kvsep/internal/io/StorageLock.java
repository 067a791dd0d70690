package io.kvsep.internal.io;

import java.io.IOException;

/** A held lock. A second close does nothing. Thread safe. */
public interface StorageLock extends AutoCloseable {
  @Override
  void close() throws IOException;
}
