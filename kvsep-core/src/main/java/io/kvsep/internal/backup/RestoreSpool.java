package io.kvsep.internal.backup;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.io.InputStream;

/**
 * A temporary file that holds a stream until it is known to be valid: data read through {@link
 * #recording} can be read again through {@link #recorded}. Never durable; the next open deletes it
 * after a crash. Not thread safe.
 */
final class RestoreSpool implements AutoCloseable {
  private static final int BUFFER_BYTES = 256 << 10;

  private final Storage storage;
  private final String name;
  private final StorageFile file;
  private final Region buffer;
  private final NativeWindow window = new NativeWindow();
  private int buffered;
  private long written;

  /**
   * Creates the file.
   *
   * @param number a file number used by no other table
   */
  RestoreSpool(Storage storage, long number, MemoryLedger ledger) throws IOException {
    this.storage = storage;
    this.name = StoreFiles.temporary(StoreFiles.table(number));
    this.buffer = ledger.allocate(MemoryPurpose.READ, BUFFER_BYTES);
    boolean made = false;
    try {
      this.file = storage.create(name);
      made = true;
    } finally {
      if (!made) {
        buffer.free();
      }
    }
  }

  /** Records what is read from {@code source}. */
  InputStream recording(InputStream source) {
    return new InputStream() {
      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] target, int from, int count) throws IOException {
        int read = source.read(target, from, count);
        for (int done = 0; done < read; ) {
          int step = Math.min(read - done, BUFFER_BYTES - buffered);
          buffer.put(buffered, target, from + done, step);
          buffered += step;
          done += step;
          if (buffered == BUFFER_BYTES) {
            write();
          }
        }
        return read;
      }
    };
  }

  /** Returns a stream over the recorded data; recording ends. */
  InputStream recorded() throws IOException {
    write();
    return new InputStream() {
      private long offset;
      private int position;
      private int limit;

      @Override
      public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
      }

      @Override
      public int read(byte[] target, int from, int count) throws IOException {
        if (position == limit) {
          int wanted = (int) Math.min(BUFFER_BYTES, written - offset);
          limit = wanted == 0 ? 0 : file.read(window.over(buffer, 0, wanted), offset);
          position = 0;
          offset += limit;
        }
        int step = Math.min(count, limit - position);
        if (step == 0) {
          return count == 0 ? 0 : -1;
        }
        buffer.get(position, target, from, step);
        position += step;
        return step;
      }
    };
  }

  private void write() throws IOException {
    if (buffered > 0) {
      file.write(window.over(buffer, 0, buffered), written);
      written += buffered;
      buffered = 0;
    }
  }

  /** Frees the memory and deletes the file; failures do not affect the restore. */
  @Override
  public void close() {
    buffer.free();
    try {
      file.close();
    } catch (IOException e) {
      // The file is not read again.
    }
    try {
      storage.delete(name);
    } catch (IOException e) {
      // The file stays as an orphan; the next open removes it.
      return;
    }
  }
}
