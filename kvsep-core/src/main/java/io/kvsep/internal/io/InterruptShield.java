package io.kvsep.internal.io;

import java.io.IOException;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs work on a private thread that is never interrupted. If an interrupt arrives while a {@link
 * java.nio.channels.FileChannel} maps, Java throws and loses the new mapping. It can never be
 * unmapped: the system keeps its pages, and the space of a deleted file, until the process ends.
 */
final class InterruptShield {
  /** One thread, however many stores there are: mapping a file takes microseconds. */
  private static final ThreadPoolExecutor THREADS =
      new ThreadPoolExecutor(
          1,
          1,
          1,
          TimeUnit.SECONDS,
          new LinkedBlockingQueue<>(),
          task -> {
            Thread thread = new Thread(null, task, "kvsep-map", 0, /* inherit locals */ false);
            thread.setContextClassLoader(null);
            thread.setDaemon(true);
            return thread;
          });

  static {
    THREADS.allowCoreThreadTimeOut(true);
  }

  private InterruptShield() {}

  /** Returns or throws what the work does; preserves the interrupt flag. */
  static <T> T call(Callable<T> work) throws IOException {
    FutureTask<T> task = new FutureTask<>(work);
    try {
      THREADS.execute(task);
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // No thread is available. This thread does as well unless it is interrupted.
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
