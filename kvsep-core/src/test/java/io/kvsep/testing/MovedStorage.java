package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.LostDirectoryException;
import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A storage whose directory is moved away before one of the operations that go by a name. Files
 * that are open stay usable. Thread safe.
 */
public final class MovedStorage extends ForwardingStorage {
  private final long movedAt;
  private final AtomicLong looks = new AtomicLong();

  /**
   * @param movedAt the first operation that goes by a name and finds nothing, counted from 1
   */
  public MovedStorage(Storage storage, long movedAt) {
    super(storage);
    this.movedAt = movedAt;
  }

  /** Operations so far that went by a name. */
  public long looks() {
    return looks.get();
  }

  /** Whether an operation has found nothing. */
  public boolean isNoticed() {
    return looks.get() >= movedAt;
  }

  @Override
  public void checkDirectory() throws IOException {
    if (looks.incrementAndGet() >= movedAt) {
      throw new LostDirectoryException(location());
    }
  }

  @Override
  public StorageFile create(String name) throws IOException {
    checkDirectory();
    return super.create(name);
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    checkDirectory();
    return super.open(name, writable);
  }

  @Override
  public boolean exists(String name) throws IOException {
    checkDirectory();
    return super.exists(name);
  }

  @Override
  public void rename(String source, String target) throws IOException {
    checkDirectory();
    super.rename(source, target);
  }

  @Override
  public void delete(String name) throws IOException {
    checkDirectory();
    super.delete(name);
  }

  @Override
  public List<String> list() throws IOException {
    checkDirectory();
    return super.list();
  }

  @Override
  public void syncDirectory() throws IOException {
    checkDirectory();
    super.syncDirectory();
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    checkDirectory();
    return super.lock(name, shared);
  }

  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    checkDirectory();
    return super.newDirectory(target);
  }
}
