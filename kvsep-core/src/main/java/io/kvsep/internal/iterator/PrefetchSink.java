package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;

/** Takes entries that an iterator will probably come to; see {@link InternalIterator#foresee}. */
public interface PrefetchSink {
  /**
   * The next entry.
   *
   * @param payloadOffset as {@link InternalIterator#payloadOffset}
   * @return whether to tell more
   */
  boolean entry(long tag, Region payloadRegion, long payloadOffset);
}
