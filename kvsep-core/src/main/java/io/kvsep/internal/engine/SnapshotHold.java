package io.kvsep.internal.engine;

/**
 * One snapshot's claim on its sequence number: what the number shows is kept until the claim is
 * released. Two claims of one number are two claims, also for {@code equals}.
 */
public final class SnapshotHold {
  private final long sequence;
  private final long sinceNanos;

  SnapshotHold(long sequence, long sinceNanos) {
    this.sequence = sequence;
    this.sinceNanos = sinceNanos;
  }

  public long sequence() {
    return sequence;
  }

  /** When it was taken, by the engine's ticker. */
  long sinceNanos() {
    return sinceNanos;
  }
}
