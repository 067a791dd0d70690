package io.kvsep.internal.view;

import io.kvsep.error.StoreClosedException;

/**
 * A snapshot's claim on its sequence number: entries visible at that number are kept until it is
 * released. Equality is identity, also for leases of the same number.
 */
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

  /** Returns the sequence number, or throws if the lease is released. */
  public long heldSequence() {
    if (released) {
      throw new StoreClosedException("the snapshot is closed");
    }
    return sequence;
  }

  /** Called only by the registry. */
  void release() {
    released = true;
  }

  /** Time of acquisition, by the ticker of the engine. */
  long sinceNanos() {
    return sinceNanos;
  }
}
