package io.kvsep.internal.background;

/** The segment of the log that is being written, as reclaim sees it. Any thread may call. */
public interface ActiveSegment {
  /** Flushed bytes of it that no table points to. */
  long garbageBytes();

  /**
   * Seals it if so much in it is garbage, as far as tables tell, so that it can be rewritten;
   * unless somebody is writing just now, who may be waiting for the thread that calls this.
   */
  void trySealWithGarbage(long garbageBytesMin);
}
