package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.Region;

/**
 * Loads value log files sequentially before most of their records are read in another order: one
 * pass over the device instead of an access per record. Not thread safe.
 */
public final class PageWarmer {
  public static final int STEP_BYTES = 1 << 20;

  private final SegmentDirectory directory;
  private long at;

  public PageWarmer(SegmentDirectory directory) {
    this.directory = directory;
  }

  /** Moves to the start of another file. */
  public void restart() {
    at = 0;
  }

  /**
   * Reads the next part, up to 1 MiB, of a sealed file that is not in memory. The caller is inside
   * an epoch.
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
