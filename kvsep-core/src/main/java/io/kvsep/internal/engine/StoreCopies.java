package io.kvsep.internal.engine;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.memory.EpochSlot;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;

/** Copies of an open store, made while everything else goes on. Thread safe. */
public final class StoreCopies {
  private final StoreWrites writes;
  private final FailureState failure;
  private final CheckpointWork checkpoint;

  StoreCopies(StoreWrites writes, FailureState failure, CheckpointWork checkpoint) {
    this.writes = writes;
    this.failure = failure;
    this.checkpoint = checkpoint;
  }

  /** Makes a store out of this one as it is now, in a directory that is not there yet. */
  public void checkpoint(Path target) {
    EpochSlot<WriteRequest> slot = writes.enter();
    try {
      failure.check();
      checkpoint.run(target, this::requireOpen);
    } catch (FileAlreadyExistsException e) {
      throw new StorageException("cannot make a checkpoint: " + target + " is there already", e);
    } catch (IOException e) {
      throw new StorageException("cannot make a checkpoint in " + target, e);
    } catch (InternalError e) {
      throw UnreadablePage.error(e);
    } finally {
      writes.exit(slot);
    }
  }

  private void requireOpen() {
    if (writes.isClosed()) {
      throw new StoreClosedException("the store was closed meanwhile");
    }
  }
}
