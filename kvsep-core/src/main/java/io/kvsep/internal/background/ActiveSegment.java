package io.kvsep.internal.background;

/** The active segment, {@code write.SegmentRotation}, as reclaim sees it. Thread safe. */
public interface ActiveSegment {
  /** Flushed bytes in the segment that no table points to. */
  long garbageBytes();

  /**
   * Seals the segment if tables show at least {@code garbageBytesMin} of garbage in it, so that
   * reclaim can rewrite it. Skipped while a write is in progress: it may wait for the calling
   * thread.
   */
  void trySealWithGarbage(long garbageBytesMin);
}
