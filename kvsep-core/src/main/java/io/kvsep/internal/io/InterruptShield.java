package io.kvsep.internal.io;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Does on a thread that nobody else knows what the interrupt of a caller must not meet half way:
 * where one arrives while a {@link java.nio.channels.FileChannel} maps, Java throws, and forgets
 * the mapping that it has by then. Nobody can take that down any more, and as long as the process
 * lives the system keeps the pages and, of a deleted file, its space.
 */
final class InterruptShield {
  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          0,
          Integer.MAX_VALUE,
          1,
          TimeUnit.SECONDS,
          new SynchronousQueue<>(),
          task -> {
            Thread thread = new Thread(null, task, "kvsep-map", 0, /* inherit locals */ false);
            thread.setContextClassLoader(null);
            thread.setDaemon(true);
            return thread;
          });

  private InterruptShield() {}

  /** Returns or throws what the work does; the caller's interrupt flag stays as it is. */
  static <T> T call(Callable<T> work) throws IOException {
    FutureTask<T> task = new FutureTask<>(work);
    try {
      THREADS.execute(task);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // There is no thread to be had; it most likely goes well here, too.
      task.run();
    }
    boolean interrupted = false;
    try {
      while (true) {
        try {
          return task.get();
        } catch (InterruptedException e) {
          interrupted = true;
        }
      }
    } catch (ExecutionException e) {
      throw failure(e.getCause());
    } finally {
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }

  private static IOException failure(@Nullable Throwable cause) {
    if (cause instanceof RuntimeException failed) {
      throw failed;
    }
    if (cause instanceof Error failed) {
      throw failed;
    }
    return cause instanceof IOException failed ? failed : new IOException(cause);
  }
}
