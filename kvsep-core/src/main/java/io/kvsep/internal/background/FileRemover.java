package io.kvsep.internal.background;

import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.version.ObsoleteFiles;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.TableTotal;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Closes and deletes files that no version holds once readers have left them. The timer and the
 * next open retry failed deletions. Thread safe.
 */
public final class FileRemover implements ObsoleteFiles {
  private static final int TICKS_BETWEEN_TRIES_MAX = 32;

  private final Storage storage;
  private final boolean readOnly;
  private final Epochs<?> epochs;
  private final SegmentDirectory segments;
  private final Set<String> waitingNames = ConcurrentHashMap.newKeySet();

  /** Names of files whose deletion failed. */
  private final Set<String> left = ConcurrentHashMap.newKeySet();

  private final RetryBackoff retryTicks = new RetryBackoff(TICKS_BETWEEN_TRIES_MAX);
  private final AtomicInteger waitingTables = new AtomicInteger();
  private final AtomicLong waitingTableBytes = new AtomicLong();
  private final AtomicInteger hiddenSegments = new AtomicInteger();
  private final AtomicLong hiddenSegmentBytes = new AtomicLong();

  public FileRemover(EngineConfig config, Epochs<?> epochs, SegmentDirectory segments) {
    this.storage = config.storage();
    this.readOnly = config.mode().readOnly();
    this.epochs = epochs;
    this.segments = segments;
  }

  @Override
  public void obsolete(List<TableFile> tables, List<Long> segmentIds) {
    for (TableFile table : tables) {
      long bytes = table.meta().fileBytes();
      countWaiting(1, bytes);
      waitingNames.add(StoreFiles.table(table.meta().number()));
      epochs.retire(
          () -> {
            table.close();
            delete(StoreFiles.table(table.meta().number()));
            countWaiting(-1, -bytes);
          });
    }
    for (long id : segmentIds) {
      // Listed until current readers leave, who may hold a pointer that only this file resolves.
      // Later readers have none: then it is unlisted, and freed after one more epoch.
      waitingNames.add(StoreFiles.segment(id));
      epochs.retire(() -> hide(id));
    }
  }

  private void hide(long id) {
    Segment segment = segments.unlist(id);
    long bytes = segment == null ? 0 : segment.publishedEnd();
    countHidden(1, bytes);
    epochs.retire(
        () -> {
          if (segment != null) {
            segment.free();
          }
          delete(StoreFiles.segment(id));
          countHidden(-1, -bytes);
        });
  }

  /** Names of obsolete files that a reader may still use. */
  public Set<String> waitingNames() {
    return Set.copyOf(waitingNames);
  }

  /** Obsolete tables that a reader may still use. */
  public TableTotal waitingTables() {
    return new TableTotal(waitingTables.get(), waitingTableBytes.get());
  }

  /** Segment files that are unlisted but not yet deleted. */
  public int hiddenSegments() {
    return hiddenSegments.get();
  }

  public long hiddenSegmentBytes() {
    return hiddenSegmentBytes.get();
  }

  private void countHidden(int segmentFiles, long bytes) {
    hiddenSegments.addAndGet(segmentFiles);
    hiddenSegmentBytes.addAndGet(bytes);
  }

  private void countWaiting(int tables, long bytes) {
    waitingTables.addAndGet(tables);
    waitingTableBytes.addAndGet(bytes);
  }

  private void delete(String name) {
    waitingNames.remove(name);
    if (readOnly) {
      return;
    }
    if (!isGone(name)) {
      left.add(name);
    }
  }

  /** Retries failed deletions. Called at intervals by one thread. */
  public void tick() {
    if (retryTicks.isDue(!left.isEmpty())) {
      left.removeIf(this::isGone);
    }
  }

  private boolean isGone(String name) {
    try {
      storage.delete(name);
      return true;
    } catch (NoSuchFileException e) {
      return true;
    } catch (IOException e) {
      return false;
    }
  }
}
