package io.kvsep.internal.vlog;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;

/**
 * A file of the log from when it is made to when it is whole. {@link #close} deletes it unless it
 * was {@linkplain #finish finished}. A step that fails half way leaves nothing but that to do.
 *
 * <p>Not thread safe.
 */
final class NewLogFile implements AutoCloseable {
  private final Storage storage;
  private final String name;
  private final StorageFile file;
  private boolean usable = true;
  private boolean finished;
  private boolean closed;

  /** Makes the file. */
  NewLogFile(Storage storage, long fileId) throws IOException {
    this.storage = storage;
    this.name = StoreFiles.segment(fileId);
    this.file = storage.create(name);
  }

  StorageFile file() {
    return file;
  }

  String name() {
    return name;
  }

  void requireUsable() {
    if (!usable) {
      throw new IllegalStateException(name + " is finished, failed or closed");
    }
  }

  /** A step begins. */
  void begin() {
    requireUsable();
    usable = false;
  }

  /** The step is over, and has succeeded. */
  void end() {
    usable = true;
  }

  /** So is the last one: the file stays. */
  void finish() {
    finished = true;
  }

  @Override
  public void close() {
    usable = false;
    if (closed) {
      return;
    }
    closed = true;
    try {
      file.close();
    } catch (IOException e) {
      // All that counts was synced before.
    }
    if (!finished) {
      try {
        storage.delete(name);
      } catch (IOException e) {
        // The file stays as an orphan; the next open removes it.
        return;
      }
    }
  }
}
