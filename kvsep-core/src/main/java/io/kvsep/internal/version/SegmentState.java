package io.kvsep.internal.version;

/**
 * One segment of the value log as a version knows it.
 *
 * @param id logical id, from 1, as in pointers
 * @param sealedLength final length in bytes of the file with this id, or {@link #GROWING}
 * @param home id of the file with its records: its own or a blob file's
 * @param relocated whether the file with this id is a blob file
 * @param lastSequence for a sealed log segment, a number not below those of its records and below
 *     those of the next segment; 0 for a segment that was moved; otherwise {@link #UNKNOWN}
 */
public record SegmentState(
    long id, long sealedLength, long home, boolean relocated, long lastSequence) {
  /** In place of a length: the log may still append. */
  public static final long GROWING = -1;

  /** In place of a sequence number that is not known; compares above all numbers. */
  public static final long UNKNOWN = Long.MAX_VALUE;

  static SegmentState ofLog(long id, long sealedLength) {
    return new SegmentState(id, sealedLength, id, /* relocated= */ false, UNKNOWN);
  }

  static SegmentState ofRelocated(long id, long length) {
    return new SegmentState(id, length, id, /* relocated= */ true, UNKNOWN);
  }

  public boolean isSealed() {
    return sealedLength != GROWING;
  }

  public boolean hasFile() {
    return home == id;
  }

  /** Whether the log wrote the file with this id, so that it has frames. */
  public boolean isLog() {
    return hasFile() && !relocated;
  }

  SegmentState sealed(long length, long sequence) {
    return new SegmentState(id, length, home, relocated, sequence);
  }

  SegmentState movedTo(long file) {
    // It is no longer part of the log.
    return new SegmentState(id, sealedLength, file, relocated, 0);
  }
}
