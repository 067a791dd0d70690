package io.kvsep.internal.concurrent;

/** Elapsed time for metrics and pacing. Injected, so that a run is determined by its seed. */
public interface Ticker {
  /** Nanoseconds since an arbitrary origin, never decreasing. */
  long nanos();

  static Ticker system() {
    return System::nanoTime;
  }
}
