package io.kvsep.internal.concurrent;

/** Elapsed time for metrics and pacing; injected, so that a run repeats from its seed. */
public interface Ticker {
  /** Nanoseconds since an arbitrary origin, never decreasing. */
  long nanos();

  /** The JVM's own. */
  static Ticker system() {
    return System::nanoTime;
  }
}
