package io.kvsep.bench;

import io.kvsep.KvStore;
import io.kvsep.StoreStats;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Samples the size of a store's files on its own thread while other threads use the store. */
final class SpaceSampler implements AutoCloseable {
  private static final long INTERVAL_NANOS = 20_000_000;

  private final Path directory;
  private final KvStore store;
  private final Thread thread;
  private final AtomicLong peakBytes;

  /** Statistics at the time of the peak. */
  private volatile StoreStats peakStats;

  SpaceSampler(Path directory, KvStore store) {
    this.directory = directory;
    this.store = store;
    // The files may be gone when the thread begins.
    this.peakBytes = new AtomicLong(Directories.fileBytes(directory));
    this.peakStats = store.stats();
    this.thread = new Thread(this::sample, "space-sampler");
    thread.setDaemon(true);
    thread.start();
  }

  /** Largest size seen, including that at the start. */
  long peakBytes() {
    return peakBytes.get();
  }

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
