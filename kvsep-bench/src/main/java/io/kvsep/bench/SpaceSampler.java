package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Watches how much the files of a store take while others work with it, on a thread of its own. */
final class SpaceSampler implements AutoCloseable {
  private static final long INTERVAL_NANOS = 20_000_000;

  private final Path directory;
  private final KvStore store;
  private final Thread thread;
  private final AtomicLong peakBytes;

  /** Figures from the moment of the peak. */
  private volatile StoreStats peakStats;

  SpaceSampler(Path directory, KvStore store) {
    this.directory = directory;
    this.store = store;
    // There may be nothing left to see when the thread has begun.
    this.peakBytes = new AtomicLong(Directories.fileBytes(directory));
    this.peakStats = store.stats();
    this.thread = new Thread(this::sample, "space-sampler");
    thread.setDaemon(true);
    thread.start();
  }

  /** The most bytes that were seen, at the start or since. */
  long peakBytes() {
    return peakBytes.get();
  }

  /** What the store said when the most was seen. */
  StoreStats peakStats() {
    return peakStats;
  }

  private void sample() {
    while (!Thread.currentThread().isInterrupted()) {
      long bytes = Directories.fileBytes(directory);
      if (bytes > peakBytes.get()) {
        peakBytes.set(bytes);
        peakStats = store.stats();
      }
      LockSupport.parkNanos(INTERVAL_NANOS);
    }
  }

  @Override
  public void close() {
    thread.interrupt();
    try {
      thread.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
