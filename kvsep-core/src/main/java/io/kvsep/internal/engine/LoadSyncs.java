package io.kvsep.internal.engine;

import io.kvsep.internal.engine.Scheduler.Lane;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * Makes the files of a bulk load durable while it goes on writing others: a device that is only
 * asked at the end has nothing to do before. Threads of the read lane wait for it; where there is
 * none, whoever finishes does. Used by one thread.
 */
final class LoadSyncs {
  private final Storage storage;
  private final Scheduler scheduler;
  private final List<FileSync> syncs = new ArrayList<>();

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
    await(syncs);
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
    await(dropped);
  }

  /** As {@link #drop}, all of them. */
  void abandon() {
    syncs.forEach(FileSync::skip);
    await(syncs);
    syncs.clear();
  }

  private static void await(List<FileSync> syncs) {
    syncs.forEach(FileSync::run);
    boolean interrupted = false;
    for (FileSync sync : syncs) {
      interrupted |= sync.await();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private final class FileSync implements Runnable {
    private final String name;
    private final AtomicBoolean begun = new AtomicBoolean();
    private final CountDownLatch done = new CountDownLatch(1);
    private volatile @Nullable Throwable failure;

    FileSync(String name) {
      this.name = name;
    }

    @Override
    public void run() {
      if (!begun.compareAndSet(false, true)) {
        return;
      }
      try (StorageFile file = storage.open(name, /* writable= */ true)) {
        file.sync();
      } catch (IOException | RuntimeException | Error e) {
        failure = e;
      } finally {
        done.countDown();
      }
    }

    void skip() {
      if (begun.compareAndSet(false, true)) {
        done.countDown();
      }
    }

    /** Waits for whoever has begun; whether the thread was interrupted meanwhile. */
    boolean await() {
      boolean interrupted = false;
      while (done.getCount() > 0) {
        try {
          done.await();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
      return interrupted;
    }

    void throwIfFailed() throws IOException {
      Throwable thrown = failure;
      if (thrown instanceof IOException e) {
        throw e;
      }
      if (thrown instanceof RuntimeException e) {
        throw e;
      }
      if (thrown instanceof Error e) {
        throw e;
      }
    }
  }
}
