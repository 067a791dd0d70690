package io.kvsep.internal.version;

/**
 * One segment of the value log as a version knows it.
 *
 * @param id logical id, from 1
 * @param sealedLength final length in bytes, or {@link #GROWING} while the log may still append
 */
public record SegmentState(long id, long sealedLength) {
  /** In place of a length: the log may still append. */
  public static final long GROWING = -1;

  public boolean isSealed() {
    return sealedLength != GROWING;
  }
}
