package io.kvsep.internal.backup;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.load.BulkLoads;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.SegmentRotation;
import io.kvsep.internal.write.StoreWrites;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Path;

/** Checkpoints, backups and restores of an open store. Thread safe. */
public final class StoreBackups {
  private final StoreWrites writes;
  private final FailureState failure;
  private final CheckpointJob checkpoint;
  private final BackupJob backup;
  private final RestoreJob restore;

  public StoreBackups(
      EngineConfig config,
      StoreReads reads,
      StoreWrites writes,
      KeyspaceCatalog keyspaces,
      VersionSet versions,
      LogTail logTail,
      SegmentRotation rotation,
      FailureState failure,
      MemoryLedger ledger,
      BulkLoads loads) {
    this.writes = writes;
    this.failure = failure;
    checkpoint = new CheckpointJob(config, versions, logTail, rotation, ledger);
    backup = new BackupJob(config, reads, versions, logTail);
    restore = new RestoreJob(reads, keyspaces, versions, loads);
  }

  /** Copies the store into a directory that must not exist. */
  public void checkpoint(Path target) {
    writes.maintain(
        "cannot make a checkpoint in " + target,
        () -> {
          failure.check();
          try {
            checkpoint.run(target, this::requireOpen);
          } catch (FileAlreadyExistsException e) {
            throw new StorageException(
                "cannot make a checkpoint: " + target + " is there already", e);
          }
          return target;
        });
  }

  /** Writes the changes since a sequence number, 0 for everything; returns the number reached. */
  public long backup(OutputStream output, long since) {
    return writes.inspect(
        "cannot write the backup", () -> backup.run(output, since, this::requireOpen));
  }

  /** Returns the sequence number of the source that the store has reached. */
  public long restore(InputStream input) {
    return writes.maintain(
        "cannot read the backup",
        () -> {
          failure.check();
          return restore.run(input, this::requireOpen);
        });
  }

  private void requireOpen() {
    if (writes.isClosed()) {
      throw new StoreClosedException("the store was closed meanwhile");
    }
  }
}
