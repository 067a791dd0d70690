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
 * Makes the files of a bulk load durable while it goes on writing others: a device that is only
 * asked at the end has nothing to do before. Threads of the read lane wait for it; where there is
 * none, whoever finishes does. Any thread may begin, the load's own does the rest.
 */
final class LoadSyncs {
  private final Storage storage;
  private final Scheduler scheduler;
  private final Queue<FileSync> syncs = new ConcurrentLinkedQueue<>();

  LoadSyncs(Storage storage, Scheduler scheduler) {
    this.storage = storage;
    this.scheduler = scheduler;
  }

  /** Begins to make a finished file durable. */
  void begin(String name) {
    FileSync sync = new FileSync(name);
    syncs.add(sync);
    // Where there is no thread it is done at the end.
    scheduler.tryExecute(Lane.READ, sync);
  }

  /** Returns when all files are durable, with their names. */
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

  /** Some of the files are not needed any more; returns when nobody is at work with them. */
  void drop(Collection<String> names) {
    List<FileSync> dropped = syncs.stream().filter(sync -> names.contains(sync.name)).toList();
    syncs.removeAll(dropped);
    dropped.forEach(FileSync::skip);
    dropped.forEach(LoadTask::await);
  }

  /** As {@link #drop}, all of them. */
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
