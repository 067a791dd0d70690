package io.kvsep.testing;

import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;

/** One folder of a {@link CrashableStorage} as a storage for itself. Thread safe. */
abstract class CrashableFolder implements Storage {
  private final String folder;

  /**
   * @param folder ends with a slash, or is empty
   */
  CrashableFolder(String folder) {
    this.folder = folder;
  }

  /** Where the files of all folders are. */
  abstract CrashableStorage whole();

  final String folder() {
    return folder;
  }

  private String path(String name) {
    if (StoreFiles.kindOf(StoreFiles.requirePlain(name)) == StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("a lock file can only be locked: " + name);
    }
    return folder + name;
  }

  @Override
  public final StorageFile create(String name) throws IOException {
    return whole().createAt(path(name));
  }

  @Override
  public final StorageFile open(String name, boolean writable) throws IOException {
    return whole().openAt(path(name), writable);
  }

  @Override
  public final boolean exists(String name) throws IOException {
    return whole().existsAt(folder + StoreFiles.requirePlain(name));
  }

  @Override
  public final void rename(String source, String target) throws IOException {
    whole().renameAt(path(source), path(target));
  }

  @Override
  public final void delete(String name) throws IOException {
    whole().deleteAt(folder + StoreFiles.requirePlain(name));
  }

  @Override
  public final boolean deletesMapped() {
    return true;
  }

  @Override
  public final List<String> list() throws IOException {
    return whole().listAt(folder);
  }

  @Override
  public final void syncDirectory() throws IOException {
    whole().syncDirectoryAt(folder);
  }

  @Override
  public final StorageLock lock(String name, boolean shared) throws IOException {
    if (StoreFiles.kindOf(StoreFiles.requirePlain(name)) != StoreFiles.Kind.LOCK) {
      throw new IllegalArgumentException("not a lock file: " + name);
    }
    return whole().lockAt(folder + name, shared);
  }

  @Override
  public final NewDirectory newDirectory(Path target) throws IOException {
    return CrashableDirectory.begin(this, target.toString());
  }

  /** Nothing moves it; see {@link MovedStorage}. */
  @Override
  public final void checkDirectory() {}

  @Override
  public boolean load(ByteBuffer mapped) {
    return true;
  }

  @Override
  public final String location() {
    return folder.isEmpty() ? "memory" : "memory " + folder;
  }

  @Override
  public abstract void close();
}
