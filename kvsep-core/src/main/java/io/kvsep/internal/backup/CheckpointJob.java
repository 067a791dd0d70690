package io.kvsep.internal.backup;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.NewDirectory;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionCopy;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.write.LogTail;
import io.kvsep.internal.write.SegmentRotation;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;

/**
 * Creates an independent copy of the store at one point in time, on the calling thread. Writers
 * wait only while the last entries are flushed and the log switches to a new segment; everything
 * committed before is then in immutable files, which are linked. Opening the copy replays nothing.
 */
final class CheckpointJob {
  private final EngineConfig config;
  private final VersionSet versions;
  private final LogTail logTail;
  private final SegmentRotation rotation;
  private final MemoryLedger ledger;

  CheckpointJob(
      EngineConfig config,
      VersionSet versions,
      LogTail logTail,
      SegmentRotation rotation,
      MemoryLedger ledger) {
    this.config = config;
    this.versions = versions;
    this.logTail = logTail;
    this.rotation = rotation;
    this.ledger = ledger;
  }

  /**
   * After an error {@code target} does not exist.
   *
   * @param pulse called often; throws when the store is being closed
   */
  void run(Path target, Runnable pulse) throws IOException {
    // First, so that an existing target changes nothing.
    try (NewDirectory copy = config.storage().newDirectory(target)) {
      Version version = rotation.endSegment();
      try {
        logTail.sync();
        fill(copy, version, pulse);
      } finally {
        version.release();
      }
      copy.publish();
    }
  }

  private void fill(NewDirectory copy, Version version, Runnable pulse) throws IOException {
    for (Map.Entry<String, Long> file : VersionCopy.files(version).entrySet()) {
      pulse.run();
      String name = file.getKey();
      if (!copy.link(name)) {
        FileCopy.copy(config.storage(), name, copy.storage(), name, file.getValue(), ledger, pulse);
      }
    }
    // Creates the lock file, so that a read-only opener of the copy can lock out writers.
    StorageLock lock = copy.storage().lock(StoreFiles.LOCK, /* shared= */ false);
    lock.close();
    VersionCopy.write(versions, version, copy.storage(), ledger);
  }
}
