package io.kvsep.testing;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A storage whose reads of the log can be held back and counted, and take time on a clock of its
 * own. Everything else is left to the storage behind it. Thread safe.
 */
public final class GatedStorage implements Storage {
  private final Storage storage;
  private final AtomicLong nanos = new AtomicLong();
  private volatile long nanosPerRead;

  // Guarded by this.
  private int readsWanted;
  private int readsWaiting;
  private int readsWaitingMost;
  private long reads;

  public GatedStorage(Storage storage) {
    this.storage = storage;
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
  public StorageFile create(String name) throws IOException {
    return gated(storage.create(name));
  }

  @Override
  public StorageFile open(String name, boolean writable) throws IOException {
    return gated(storage.open(name, writable));
  }

  private StorageFile gated(StorageFile file) {
    return file.name().endsWith(".vlog") ? new GatedFile(file) : file;
  }

  @Override
  public boolean exists(String name) throws IOException {
    return storage.exists(name);
  }

  @Override
  public void rename(String source, String target) throws IOException {
    storage.rename(source, target);
  }

  @Override
  public void delete(String name) throws IOException {
    storage.delete(name);
  }

  @Override
  public List<String> list() throws IOException {
    return storage.list();
  }

  @Override
  public void syncDirectory() throws IOException {
    storage.syncDirectory();
  }

  @Override
  public StorageLock lock(String name, boolean shared) throws IOException {
    return storage.lock(name, shared);
  }

  @Override
  public String location() {
    return storage.location();
  }

  /** Leaves the storage behind it open, so that a store can be opened in it again. */
  @Override
  public void close() {}

  private final class GatedFile implements StorageFile {
    private final StorageFile file;

    GatedFile(StorageFile file) {
      this.file = file;
    }

    @Override
    public int read(ByteBuffer target, long position) throws IOException {
      pass();
      nanos.addAndGet(nanosPerRead);
      return file.read(target, position);
    }

    @Override
    public String name() {
      return file.name();
    }

    @Override
    public long length() throws IOException {
      return file.length();
    }

    @Override
    public void write(ByteBuffer source, long position) throws IOException {
      file.write(source, position);
    }

    @Override
    public ByteBuffer map(long length) throws IOException {
      return file.map(length);
    }

    @Override
    public void sync() throws IOException {
      file.sync();
    }

    @Override
    public void truncate(long length) throws IOException {
      file.truncate(length);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
