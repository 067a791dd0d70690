package io.kvsep.internal.io;

import java.io.IOException;

/**
 * A storage's directory was moved, deleted or replaced, or its lock file is not the one locked. A
 * directory of that name may now belong to another store.
 */
public final class LostDirectoryException extends IOException {
  private static final long serialVersionUID = 1L;

  public LostDirectoryException(String directory) {
    super(
        "the directory " + directory + ", or its LOCK, was moved, deleted or replaced while open");
  }
}
