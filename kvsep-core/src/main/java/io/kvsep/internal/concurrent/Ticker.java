package io.kvsep.internal.concurrent;

/** Elapsed time for metrics, pacing and due times of syncs. Tests inject one. */
public interface Ticker {
  /** Nanoseconds since an arbitrary origin, never decreasing. */
  long nanos();

  static Ticker system() {
    return System::nanoTime;
  }
}
