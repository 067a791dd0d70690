package io.kvsep.internal.version;

/**
 * One segment of the value log as a version knows it.
 *
 * @param id logical id, from 1, as pointers name it
 * @param sealedLength final length in bytes of the file with this id, or {@link #GROWING} while the
 *     log may still append
 * @param home id of the file in which its records are found: its own, or that of a relocated one
 * @param relocated whether the file with this id is one that reclaim wrote
 * @param lastSequence of a sealed segment of the log: a number that none of its records has a
 *     higher one than, and each of those in the next segment has; else {@link #UNKNOWN}. 0 of one
 *     that was moved
 */
public record SegmentState(
    long id, long sealedLength, long home, boolean relocated, long lastSequence) {
  /** In place of a length: the log may still append. */
  public static final long GROWING = -1;

  /** In place of a sequence number: no record has a higher one. */
  public static final long UNKNOWN = Long.MAX_VALUE;

  /** A segment in a file that the log wrote. */
  static SegmentState ofLog(long id, long sealedLength) {
    return new SegmentState(id, sealedLength, id, /* relocated= */ false, UNKNOWN);
  }

  /** A file that reclaim wrote. */
  static SegmentState ofRelocated(long id, long length) {
    return new SegmentState(id, length, id, /* relocated= */ true, UNKNOWN);
  }

  public boolean isSealed() {
    return sealedLength != GROWING;
  }

  /** Whether there is a file with this id. */
  public boolean hasFile() {
    return home == id;
  }

  /** Whether there is a file with this id that the log wrote, so that it has frames. */
  public boolean isLog() {
    return hasFile() && !relocated;
  }

  SegmentState sealed(long length, long sequence) {
    return new SegmentState(id, length, home, relocated, sequence);
  }

  SegmentState movedTo(long file) {
    // It is no part of the log any more.
    return new SegmentState(id, sealedLength, file, relocated, 0);
  }
}
