package io.kvsep.internal.io;

import java.io.IOException;

/**
 * The name of a storage's directory leads to another directory or to nothing, or its lock file is
 * not the one that was locked. What has the name now may belong to another store.
 */
public final class LostDirectoryException extends IOException {
  private static final long serialVersionUID = 1L;

  public LostDirectoryException(String directory) {
    super(
        "the directory " + directory + ", or its LOCK, was moved, deleted or replaced while open");
  }
}
