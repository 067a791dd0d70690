package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.Map;

/**
 * Counts by kind of file how often a file's content was asked for, by a read or a mapping, and the
 * bytes that were written. What is read through a mapping that was made before is not seen. Thread
 * safe.
 */
public final class CountingStorage extends ForwardingStorage {
  private final Map<StoreFiles.Kind, Integer> accesses = new EnumMap<>(StoreFiles.Kind.class);
  private final Map<StoreFiles.Kind, Long> written = new EnumMap<>(StoreFiles.Kind.class);

  public CountingStorage(Storage storage) {
    super(storage);
  }

  /** Reads and mappings of files of a kind so far. */
  public synchronized int accesses(StoreFiles.Kind kind) {
    return accesses.getOrDefault(kind, 0);
  }

  /** Bytes written to files of a kind so far. */
  public synchronized long bytesWritten(StoreFiles.Kind kind) {
    return written.getOrDefault(kind, 0L);
  }

  private synchronized void countWritten(String name, long bytes) {
    written.merge(StoreFiles.kindOf(name), bytes, Long::sum);
  }

  private synchronized void count(String name) {
    accesses.merge(StoreFiles.kindOf(name), 1, Integer::sum);
  }

  @Override
  protected StorageFile wrap(StorageFile file) {
    return new CountingFile(file);
  }

  private final class CountingFile extends ForwardingFile {
    CountingFile(StorageFile file) {
      super(file);
    }

    @Override
    public void write(ByteBuffer source, long offset) throws IOException {
      countWritten(name(), source.remaining());
      super.write(source, offset);
    }

    @Override
    public int read(ByteBuffer target, long offset) throws IOException {
      count(name());
      return super.read(target, offset);
    }

    @Override
    public ByteBuffer map(long length) throws IOException {
      count(name());
      return super.map(length);
    }
  }
}
