package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;

/** Receives entries that an iterator will probably reach; see {@link InternalIterator#foresee}. */
public interface PrefetchSink {
  /**
   * The next entry.
   *
   * @param payloadOffset as {@link InternalIterator#payloadOffset}
   * @return whether to report more
   */
  boolean entry(long tag, Region payloadRegion, long payloadOffset);
}
