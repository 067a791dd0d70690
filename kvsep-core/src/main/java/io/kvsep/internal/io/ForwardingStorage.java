package io.kvsep.internal.io;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/** Forwards everything to another storage. Thread safe if that storage is. */
public abstract class ForwardingStorage implements Storage {
  private final Storage storage;

  protected ForwardingStorage(Storage storage) {
    this.storage = storage;
  }

  /** Called with each file created or opened; returns the one that callers get. */
  protected StorageFile wrap(StorageFile file) {
    return file;
  }

  @Override
  public StorageFile create(String name) throws IOException {
    return wrap(storage.create(name));
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return wrap(storage.open(name, writable));
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
  public boolean deletesMapped() {
    return storage.deletesMapped();
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
  public boolean load(ByteBuffer mapped) {
    return storage.load(mapped);
  }

  @Override
  public NewDirectory newDirectory(Path target) throws IOException {
    return storage.newDirectory(target);
  }

  @Override
  public void checkDirectory() throws IOException {
    storage.checkDirectory();
  }

  @Override
  public String location() {
    return storage.location();
  }

  @Override
  public void close() throws IOException {
    storage.close();
  }
}
