package io.kvsep.internal.load;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Syncs files of a bulk load while later ones are written, so that the device is not idle until the
 * end. Threads of the read lane wait for the device; if none is free, {@link #finish} does. Any
 * thread may begin a sync; the rest is for the load's thread.
 */
final class LoadSyncs {
  private final Storage storage;
  private final Scheduler scheduler;
  private final Queue<FileSync> syncs = new ConcurrentLinkedQueue<>();

  LoadSyncs(Storage storage, Scheduler scheduler) {
    this.storage = storage;
    this.scheduler = scheduler;
  }

  void begin(String name) {
    FileSync sync = new FileSync(name);
    syncs.add(sync);
    // Without a free thread, finish() runs it.
    scheduler.tryExecute(Lane.READ, sync);
  }

  /** Returns when all files and their directory entries are durable. */
  void finish() throws IOException {
    syncs.forEach(LoadTask::await);
    for (FileSync sync : syncs) {
      sync.throwIfFailed();
    }
    if (!syncs.isEmpty()) {
      storage.syncDirectory();
    }
    syncs.clear();
  }

  /** Cancels syncs that are no longer needed; waits for running ones. */
  void drop(Collection<String> names) {
    List<FileSync> dropped = syncs.stream().filter(sync -> names.contains(sync.name)).toList();
    syncs.removeAll(dropped);
    dropped.forEach(FileSync::skip);
    dropped.forEach(LoadTask::await);
  }

  /** As {@link #drop}, for all files. */
  void abandon() {
    syncs.forEach(FileSync::skip);
    syncs.forEach(LoadTask::await);
    syncs.clear();
  }

  private final class FileSync extends LoadTask {
    private final String name;

    FileSync(String name) {
      this.name = name;
    }

    @Override
    void work() throws IOException {
      try (StorageFile file = storage.open(name, /* writable= */ true)) {
        file.sync();
      }
    }
  }
}
