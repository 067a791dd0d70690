package io.kvsep.internal.background;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Durable blob files of a flush or compaction until an edit is in force. Before that no version has
 * them, so reclaim does not take them. Not thread safe.
 */
final class NewSegments implements AutoCloseable {
  private final EngineConfig config;
  private final VersionSet versions;
  private final SegmentDirectory segments;
  private final Epochs<?> epochs;
  private final MemoryLedger ledger;
  private final AtomicLong bytesWritten;
  private final List<Segment> files = new ArrayList<>();

  /** Whether an edit may have named the files. */
  private boolean named;

  /**
   * @param bytesWritten counts the bytes of files that an edit owns
   */
  NewSegments(
      EngineConfig config,
      VersionSet versions,
      SegmentDirectory segments,
      Epochs<?> epochs,
      MemoryLedger ledger,
      AtomicLong bytesWritten) {
    this.config = config;
    this.versions = versions;
    this.segments = segments;
    this.epochs = epochs;
    this.ledger = ledger;
    this.bytesWritten = bytesWritten;
  }

  void add(long id, long bytes) {
    files.add(
        Segment.openRelocated(config.storage(), versions.storeId(), id, bytes, epochs, ledger));
  }

  /** Lists the files for readers; the edit owns them from now on. */
  void addTo(VersionEdit edit) {
    for (Segment file : files) {
      edit.addRelocated(file.id(), file.publishedEnd());
      segments.add(file);
      bytesWritten.addAndGet(file.publishedEnd());
    }
    named = true;
  }

  /** The edit is in force. */
  void installed() {
    files.clear();
  }

  /** Removes the files unless they are installed. */
  @Override
  public void close() {
    // After an error they may be installed nevertheless.
    Map<Long, ?> inForce = versions.current().segments();
    CleanupSteps closes = new CleanupSteps();
    for (Segment file : files) {
      if (!inForce.containsKey(file.id())) {
        closes.run(() -> takeBack(file));
      }
    }
    closes.throwFirst();
  }

  private void takeBack(Segment file) {
    segments.unlist(file.id());
    epochs.retire(file::free);
    if (!named) {
      delete(file);
    }
  }

  private void delete(Segment file) {
    try {
      config.storage().delete(StoreFiles.segment(file.id()));
    } catch (IOException e) {
      // It becomes an orphan, which the next open removes.
      return;
    }
  }
}
