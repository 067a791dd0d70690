package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;

/** Supports one forward pass. Not thread safe. */
public abstract class ForwardIterator extends InternalIterator {
  @Override
  public final void seekToLast() {
    throw forwardOnly();
  }

  @Override
  public final void seek(Region key, long offset, int length, long seekTag) {
    throw forwardOnly();
  }

  @Override
  public final void seekBefore(Region key, long offset, int length, long seekTag) {
    throw forwardOnly();
  }

  @Override
  public final void previous() {
    throw forwardOnly();
  }

  private static UnsupportedOperationException forwardOnly() {
    return new UnsupportedOperationException("these entries are walked from the first one on");
  }
}
