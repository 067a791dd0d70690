package io.kvsep.internal.background;

/** The active segment, {@code write.SegmentRotation}, as reclaim sees it. Thread safe. */
public interface ActiveSegment {
  /** Flushed bytes in the segment that no table points to. */
  long garbageBytes();

  /**
   * Seals the segment for reclaim if tables show at least {@code garbageBytesMin} of garbage in it.
   * Skipped during a write, which may wait for the calling thread.
   */
  void trySealWithGarbage(long garbageBytesMin);
}
