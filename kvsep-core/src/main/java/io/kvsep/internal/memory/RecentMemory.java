package io.kvsep.internal.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.concurrent.Ticker;

/**
 * Memory statistics that are read at most every 400 milliseconds, however many stores ask: reading
 * them opens some ten files. Thread safe.
 */
public final class RecentMemory implements ColdReadPolicy.Memory {
  /** Of this process, for all its stores. */
  public static final RecentMemory OF_SYSTEM =
      new RecentMemory(new SystemMemory(), Ticker.system());

  /** Less than the interval at which a store asks. */
  private static final long NANOS_MAX = 400_000_000;

  private final ColdReadPolicy.Memory memory;
  private final Ticker ticker;

  @GuardedBy("this")
  private boolean known;

  @GuardedBy("this")
  private long readNanos;

  @GuardedBy("this")
  private long fileBytes;

  @GuardedBy("this")
  private long majorFaults;

  RecentMemory(ColdReadPolicy.Memory memory, Ticker ticker) {
    this.memory = memory;
    this.ticker = ticker;
  }

  @Override
  public synchronized long fileBytes() {
    refresh();
    return fileBytes;
  }

  @Override
  public synchronized long majorFaults() {
    refresh();
    return majorFaults;
  }

  @GuardedBy("this")
  private void refresh() {
    long now = ticker.nanos();
    if (!known || now - readNanos > NANOS_MAX) {
      fileBytes = memory.fileBytes();
      majorFaults = memory.majorFaults();
      readNanos = now;
      known = true;
    }
  }
}
