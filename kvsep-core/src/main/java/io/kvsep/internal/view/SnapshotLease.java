package io.kvsep.internal.view;

import io.kvsep.error.StoreClosedException;

/** Keeps the entries visible at a sequence number until released. Equality is identity. */
public final class SnapshotLease {
  private final long sequence;
  private final long sinceNanos;
  private volatile boolean released;

  public SnapshotLease(long sequence, long sinceNanos) {
    this.sequence = sequence;
    this.sinceNanos = sinceNanos;
  }

  public long sequence() {
    return sequence;
  }

  /** Throws if the lease is released. */
  public long heldSequence() {
    if (released) {
      throw new StoreClosedException("the snapshot is closed");
    }
    return sequence;
  }

  /** For the registry alone. */
  void release() {
    released = true;
  }

  /** Time of acquisition by the ticker. */
  long sinceNanos() {
    return sinceNanos;
  }
}
