package io.kvsep.testing;

import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.nio.ByteBuffer;

/**
 * A storage whose reads of the log can be held back and counted: positional reads, and loads of
 * long parts of mappings. Everything else is left to the storage behind it. Thread safe.
 */
public final class GatedStorage extends ForwardingStorage {
  /** Parts of tables that are loaded at once are shorter. */
  private static final int LONG_BYTES = 32 << 10;

  private volatile boolean nothingInMemory;
  private volatile int gatedBytesMin = LONG_BYTES;

  // Guarded by this.
  private int readsWanted;
  private int readsWaiting;
  private int readsWaitingMost;
  private long reads;
  private int longestLoad;

  public GatedStorage(Storage storage) {
    super(storage);
  }

  /** Whether each long part of a mapping has to be read from the device when it is loaded. */
  public void nothingInMemory(boolean nothing) {
    nothingInMemory = nothing;
  }

  /** From now on short parts, such as blocks of tables, are held back and counted as well. */
  public void gateShortLoads() {
    gatedBytesMin = 1;
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

  /** Bytes of the longest load of a part of a mapping. */
  public synchronized int longestLoad() {
    return longestLoad;
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
  public boolean load(ByteBuffer mapped) {
    boolean isRead = nothingInMemory && mapped.remaining() >= gatedBytesMin;
    if (isRead) {
      synchronized (this) {
        longestLoad = Math.max(longestLoad, mapped.remaining());
      }
      pass();
    }
    return isRead;
  }

  /** Leaves the storage behind it open, so that a store can be opened in it again. */
  @Override
  public void close() {}

  private final class GatedFile extends ForwardingFile {
    GatedFile(StorageFile file) {
      super(file);
    }

    @Override
    public int read(ByteBuffer target, long offset) throws IOException {
      pass();
      return super.read(target, offset);
    }
  }
}
