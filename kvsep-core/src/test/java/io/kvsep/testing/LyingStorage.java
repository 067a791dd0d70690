package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.io.StoreFiles.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;

/**
 * A storage that claims what is not so, for canaries: tests that look for broken promises have to
 * notice. A sync may be told to have happened and be left out, or be put off until the next file is
 * deleted; an error may be swallowed. Everything else is left to the storage behind it. Not thread
 * safe.
 */
public final class LyingStorage extends ForwardingStorage {
  /** What is claimed. */
  public enum Lie {
    /** That a sync was done. */
    SYNC_LEFT_OUT,
    /** The same; it is done when the next file has been deleted. */
    SYNC_AFTER_DELETE,
    /** That an operation succeeded which did not. */
    ERROR_SWALLOWED
  }

  private final Lie lie;
  private final BiPredicate<Operation, Kind> about;
  private final List<StorageFile> putOff = new ArrayList<>();

  /**
   * @param about which operations it lies about; those of the directory are of {@link Kind#OTHER}
   */
  public LyingStorage(Storage storage, Lie lie, BiPredicate<Operation, Kind> about) {
    super(storage);
    this.lie = lie;
    this.about = about;
  }

  private interface Action {
    void run() throws IOException;
  }

  private void act(Operation operation, Kind kind, Action action) throws IOException {
    if (!about.test(operation, kind)) {
      action.run();
      return;
    }
    if (lie != Lie.ERROR_SWALLOWED) {
      return;
    }
    try {
      action.run();
    } catch (IOException e) {
      // This is the lie.
      return;
    }
  }

  @Override
  protected StorageFile wrap(StorageFile file) {
    return new LyingFile(file);
  }

  @Override
  public void delete(String name) throws IOException {
    super.delete(name);
    for (StorageFile file : putOff) {
      file.sync();
    }
    putOff.clear();
  }

  @Override
  public void syncDirectory() throws IOException {
    act(Operation.SYNC_DIRECTORY, Kind.OTHER, super::syncDirectory);
  }

  private final class LyingFile extends ForwardingFile {
    private final StorageFile file;
    private final Kind kind;

    LyingFile(StorageFile file) {
      super(file);
      this.file = file;
      this.kind = StoreFiles.kindOf(file.name());
    }

    @Override
    public void sync() throws IOException {
      act(Operation.SYNC, kind, super::sync);
      if (lie == Lie.SYNC_AFTER_DELETE && about.test(Operation.SYNC, kind)) {
        putOff.add(file);
      }
    }

    @Override
    public void write(ByteBuffer source, long offset) throws IOException {
      act(Operation.WRITE, kind, () -> super.write(source, offset));
    }
  }
}
