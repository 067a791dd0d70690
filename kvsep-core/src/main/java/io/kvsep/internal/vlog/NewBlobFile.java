package io.kvsep.internal.vlog;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;

/**
 * A blob file under construction. {@link #close} deletes it unless it was {@linkplain #finish
 * finished}. After a failed step only {@link #close} may be called. Not thread safe.
 */
final class NewBlobFile implements AutoCloseable {
  private final Storage storage;
  private final String name;
  private final StorageFile file;
  private boolean usable = true;
  private boolean finished;
  private boolean closed;

  NewBlobFile(Storage storage, long fileId) throws IOException {
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

  void begin() {
    requireUsable();
    usable = false;
  }

  void end() {
    usable = true;
  }

  /** Ends the last step. */
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
      // The data is already synced.
    }
    if (!finished) {
      try {
        storage.delete(name);
      } catch (IOException e) {
        // The next open removes the orphan.
        return;
      }
    }
  }
}
