package io.kvsep.internal.sstable;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Limits;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/** Appends to a table file in aligned pieces of one length; the last may be shorter. */
final class TableFileWriter implements AutoCloseable {
  private final StorageFile file;
  private final NativeWindow window;
  private final Region buffer;
  private long flushed;
  private int buffered;

  /** Takes over {@code file}, even on failure. */
  TableFileWriter(StorageFile file, MemoryLedger ledger, NativeWindow window) {
    this.file = file;
    this.window = window;
    boolean made = false;
    try {
      this.buffer = ledger.allocateUncleared(MemoryPurpose.TABLE_BUILD, Limits.PIECE_BYTES);
      made = true;
    } finally {
      if (!made) {
        closeFile();
      }
    }
  }

  long position() {
    return flushed + buffered;
  }

  /** Requires an empty buffer. */
  void header(StoreId storeId, long number) {
    new FileHeader(storeId, number).put(buffer, TableFormat.KIND, window);
    buffered = TableFormat.HEADER_BYTES;
  }

  void write(Region source, long count) throws IOException {
    if (count > TableFormat.FILE_BYTES_MAX - position()) {
      throw new IllegalStateException(
          file.name() + " would be longer than " + TableFormat.FILE_BYTES_MAX + " bytes");
    }
    long copied = 0;
    while (copied < count) {
      int step = (int) Math.min(count - copied, buffer.length() - buffered);
      buffer.put(buffered, source, copied, step);
      buffered += step;
      copied += step;
      if (buffered == buffer.length()) {
        flush();
      }
    }
  }

  /** Flushes and makes the contents durable. */
  void sync() throws IOException {
    flush();
    file.sync();
  }

  @Override
  public void close() {
    buffer.free();
    closeFile();
  }

  private void closeFile() {
    try {
      file.close();
    } catch (IOException e) {
      throw new StorageException("cannot close " + file.name(), e);
    }
  }

  void flush() throws IOException {
    if (buffered > 0) {
      file.write(window.over(buffer, 0, buffered), flushed);
      flushed += buffered;
      buffered = 0;
    }
  }
}
