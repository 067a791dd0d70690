package io.kvsep.internal.version;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Writes and syncs the manifest's files, counts both, and reports a failed sync as {@link
 * SyncFailure}. For one thread at a time, except the counts.
 */
final class DurableOutput {
  private static final int STEP_BYTES = 1 << 30;

  private final Storage storage;
  private final MemoryLedger ledger;
  private final NativeWindow window = new NativeWindow();
  private final AtomicLong bytesWritten = new AtomicLong();
  private final AtomicLong syncs = new AtomicLong();

  DurableOutput(Storage storage, MemoryLedger ledger) {
    this.storage = storage;
    this.ledger = ledger;
  }

  Storage storage() {
    return storage;
  }

  MemoryLedger ledger() {
    return ledger;
  }

  /** For checksums; valid until the next use. */
  NativeWindow window() {
    return window;
  }

  void write(StorageFile file, Region source, long count, long offset) throws IOException {
    long done = 0;
    while (done < count) {
      int step = (int) Math.min(count - done, STEP_BYTES);
      file.write(window.over(source, done, step), offset + done);
      done += step;
    }
    bytesWritten.addAndGet(count);
  }

  void sync(StorageFile file) throws SyncFailure {
    syncs.incrementAndGet();
    try {
      file.sync();
    } catch (IOException e) {
      throw new SyncFailure(file.name(), e);
    }
  }

  void syncDirectory() throws SyncFailure {
    syncs.incrementAndGet();
    try {
      storage.syncDirectory();
    } catch (IOException e) {
      throw new SyncFailure(storage.location(), e);
    }
  }

  long bytesWritten() {
    return bytesWritten.get();
  }

  long syncs() {
    return syncs.get();
  }
}
