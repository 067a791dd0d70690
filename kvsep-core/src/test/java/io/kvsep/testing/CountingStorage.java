package io.kvsep.testing;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * Counts by kind of file how often somebody asked for a file's content, by a read or a mapping.
 * What is read through a mapping that was made before is not seen. Thread safe.
 */
public final class CountingStorage implements Storage {
  private final Storage storage;
  private final Map<StoreFiles.Kind, Integer> accesses = new EnumMap<>(StoreFiles.Kind.class);

  public CountingStorage(Storage storage) {
    this.storage = storage;
  }

  /** Reads and mappings of files of a kind so far. */
  public synchronized int accesses(StoreFiles.Kind kind) {
    return accesses.getOrDefault(kind, 0);
  }

  private synchronized void count(String name) {
    accesses.merge(StoreFiles.kindOf(name), 1, Integer::sum);
  }

  @Override
  public StorageFile create(String name) throws IOException {
    return new CountingFile(storage.create(name));
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return new CountingFile(storage.open(name, writable));
  }

  @Override
  public boolean exists(String name) throws IOException {
    return storage.exists(name);
  }

  @Override
  public void rename(String source, String target) throws IOException {
    storage.rename(source, target);
  }

  @Override
  public void delete(String name) throws IOException {
    storage.delete(name);
  }

  @Override
  public List<String> list() throws IOException {
    return storage.list();
  }

  @Override
  public void syncDirectory() throws IOException {
    storage.syncDirectory();
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    return storage.lock(name, shared);
  }

  @Override
  public String location() {
    return storage.location();
  }

  @Override
  public void close() throws IOException {
    storage.close();
  }

  private final class CountingFile implements StorageFile {
    private final StorageFile file;

    CountingFile(StorageFile file) {
      this.file = file;
    }

    @Override
    public String name() {
      return file.name();
    }

    @Override
    public long length() throws IOException {
      return file.length();
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      file.write(source, position);
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      count(name());
      return file.read(target, position);
    }

    @Override
    public ByteBuffer map(long length) throws IOException {
      count(name());
      return file.map(length);
    }

    @Override
    public void sync() throws IOException {
      file.sync();
    }

    @Override
    public void truncate(long length) throws IOException {
      file.truncate(length);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
