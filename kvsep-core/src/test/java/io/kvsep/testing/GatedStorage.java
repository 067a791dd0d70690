package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A storage whose reads of the log can be held back and counted, and take time on a clock of its
 * own; while they do, nothing is in memory. Everything else is left to the storage behind it.
 * Thread safe.
 */
public final class GatedStorage extends ForwardingStorage {
  private final AtomicLong nanos = new AtomicLong();
  private volatile long nanosPerRead;

  // Guarded by this.
  private int readsWanted;
  private int readsWaiting;
  private int readsWaitingMost;
  private long reads;

  public GatedStorage(Storage storage) {
    super(storage);
  }

  /** From now on each read takes this long on the {@link #nanos} clock. */
  public void takeTime(long nanosPerRead) {
    this.nanosPerRead = nanosPerRead;
  }

  public long nanos() {
    return nanos.get();
  }

  /** Holds reads back until so many wait at once; then all pass, and later ones as well. */
  public synchronized void holdUntil(int waiting) {
    readsWanted = waiting;
    readsWaitingMost = 0;
  }

  /** Lets all pass. */
  public synchronized void open() {
    readsWanted = 0;
    notifyAll();
  }

  /** The most reads that were held back at once. */
  public synchronized int readsWaitingMost() {
    return readsWaitingMost;
  }

  /** Reads of the log that were begun. */
  public synchronized long reads() {
    return reads;
  }

  /** Returns once so many reads are held back. */
  public synchronized void awaitWaiting(int waiting) throws InterruptedException {
    while (readsWaiting < waiting) {
      wait();
    }
  }

  private synchronized void pass() {
    reads++;
    if (readsWanted == 0) {
      return;
    }
    readsWaiting++;
    readsWaitingMost = Math.max(readsWaitingMost, readsWaiting);
    if (readsWaiting >= readsWanted) {
      readsWanted = 0;
    }
    notifyAll();
    boolean interrupted = false;
    while (readsWanted > 0) {
      try {
        wait();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    readsWaiting--;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  protected StorageFile wrap(StorageFile file) {
    return file.name().endsWith(".vlog") ? new GatedFile(file) : file;
  }

  @Override
  public boolean isInMemory(ByteBuffer mapped) {
    return nanosPerRead == 0;
  }

  /** Leaves the storage behind it open, so that a store can be opened in it again. */
  @Override
  public void close() {}

  private final class GatedFile extends ForwardingFile {
    GatedFile(StorageFile file) {
      super(file);
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      pass();
      nanos.addAndGet(nanosPerRead);
      return super.read(target, position);
    }
  }
}
