package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.Region;

/**
 * Brings files of the value log into memory from one end to the other, before most of their records
 * are read in another order: so the device has to go to each place once, and not for each record.
 * Not thread safe.
 */
public final class PageWarmer {
  /** Bytes that are read at once. */
  public static final int STEP_BYTES = 1 << 20;

  private final SegmentDirectory directory;
  private long at;

  public PageWarmer(SegmentDirectory directory) {
    this.directory = directory;
  }

  /** To the start of another file. */
  public void restart() {
    at = 0;
  }

  /**
   * Reads the next part of a sealed file that is not in memory, up to a MiB. The caller is inside
   * the epochs.
   *
   * @return whether there may be more
   */
  public boolean step(long file) {
    Segment segment = directory.find(file);
    if (segment == null) {
      return false;
    }
    long end = segment.publishedEnd();
    Region region = segment.mapped(end, 0);
    while (region != null && at < end) {
      int count = (int) Math.min(STEP_BYTES, end - at);
      boolean isRead = segment.load(region, at, count);
      at += count;
      if (isRead) {
        return true;
      }
    }
    return false;
  }
}
