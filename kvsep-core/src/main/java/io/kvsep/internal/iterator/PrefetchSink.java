package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;

/** Receives the entries of {@link InternalIterator#foresee}. */
public interface PrefetchSink {
  /** Returns whether to report more. */
  boolean entry(long tag, Region payloadRegion, long payloadOffset);
}
