package io.kvsep.internal.view;

import io.kvsep.error.StoreClosedException;

/**
 * One snapshot's claim on its sequence number: what the number shows is kept until the claim is
 * released. Two claims of one number are two claims, also for {@code equals}.
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

  /** The sequence number as long as what it shows is kept; refused after that. */
  public long heldSequence() {
    if (released) {
      throw new StoreClosedException("the snapshot is closed");
    }
    return sequence;
  }

  /** By the registry alone. */
  void release() {
    released = true;
  }

  /** When it was taken, by the engine's ticker. */
  long sinceNanos() {
    return sinceNanos;
  }
}
