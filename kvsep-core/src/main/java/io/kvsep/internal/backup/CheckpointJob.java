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
 * Makes a directory that holds the store as it is at one moment, and is a store of its own. Writers
 * are kept out only while the log goes on in another segment: everything committed then lies in
 * files that nobody writes into any more, and these are linked. What is in memtables is not
 * flushed, as the log has it; whoever opens the copy replays it.
 *
 * <p>Works on the calling thread.
 */
final class CheckpointJob {
  private final EngineConfig config;
  private final VersionSet versions;
  private final LogTail appender;
  private final SegmentRotation rotation;
  private final MemoryLedger ledger;

  CheckpointJob(
      EngineConfig config,
      VersionSet versions,
      LogTail appender,
      SegmentRotation rotation,
      MemoryLedger ledger) {
    this.config = config;
    this.versions = versions;
    this.appender = appender;
    this.rotation = rotation;
    this.ledger = ledger;
  }

  /**
   * Makes the copy; after an error there is nothing in its place.
   *
   * @param pulse is called often and throws when the store is being closed
   */
  void run(Path target, Runnable pulse) throws IOException {
    // First, so that nothing is done to the store when the name is taken.
    try (NewDirectory copy = config.storage().newDirectory(target)) {
      Version version = rotation.endSegment();
      try {
        appender.sync();
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
    // Made now, so that whoever opens the copy for reading only keeps writers away from it.
    StorageLock lock = copy.storage().lock(StoreFiles.LOCK, /* shared= */ false);
    lock.close();
    VersionCopy.write(versions, version, copy.storage(), ledger);
  }
}
