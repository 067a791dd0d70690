package io.kvsep.internal.vlog;

import io.kvsep.error.StorageException;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Brings files of the value log into memory from one end to the other, before most of their records
 * are read in another order: so the device has to go to each place once, and not for each record.
 * Not thread safe.
 */
public final class WarmUp implements AutoCloseable {
  /** Bytes that are read at once. */
  public static final int STEP_BYTES = 1 << 20;

  private final SegmentDirectory directory;
  private final Region region;
  private final NativeWindow window = new NativeWindow();
  private long at;

  public WarmUp(SegmentDirectory directory, MemoryLedger ledger) {
    this.directory = directory;
    this.region = ledger.allocateUncleared(MemoryPurpose.RECLAIM, STEP_BYTES);
  }

  /** To the start of another file. */
  public void restart() {
    at = 0;
  }

  /**
   * Reads the next part of a sealed file that is not in memory, up to a MiB. Leaves the rest alone
   * where the device refuses: perhaps nobody needs it, and who does finds the error himself. The
   * caller is inside the epochs.
   *
   * @return whether there may be more
   */
  public boolean step(long file) {
    Segment segment = directory.find(file);
    if (segment == null || !directory.openToRead(segment)) {
      return false;
    }
    long end = segment.publishedEnd();
    if (segment.mapped(end, 0) == null) {
      return false;
    }
    while (at < end) {
      int count = (int) Math.min(STEP_BYTES, end - at);
      boolean needed = !segment.isInMemory(at, count);
      if (needed && !read(segment, count)) {
        return false;
      }
      at += count;
      if (needed) {
        return true;
      }
    }
    return false;
  }

  private boolean read(Segment segment, int count) {
    try {
      segment.read(window.over(region, 0, count), at);
      return true;
    } catch (StorageException e) {
      return false;
    }
  }

  @Override
  public void close() {
    region.free();
  }
}
