package io.kvsep.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.BooleanSupplier;

/** Threads that run the same work until the time is over. */
public final class Workers {
  /** Work of one thread while {@code running}; returns the number of operations. */
  public interface Work {
    long run(int worker, BooleanSupplier running);
  }

  /** Operations of all threads, duration, and CPU time of all threads. */
  public record Outcome(long operations, long nanos, long cpuNanos) {}

  /** More than any run needs. */
  static final long SECONDS_MAX = 1_000_000_000;

  static final Duration TIME_MAX = Duration.ofSeconds(SECONDS_MAX);

  private Workers() {}

  static Outcome run(int threads, long seconds, Work work) {
    return run(threads, Duration.ofSeconds(seconds), work);
  }

  public static Outcome run(int threads, Duration time, Work work) {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    long start = System.nanoTime();
    long nanosMax = time.toNanos();
    try {
      List<Future<long[]>> results = new ArrayList<>();
      for (int worker = 0; worker < threads; worker++) {
        int number = worker;
        results.add(
            pool.submit(
                () -> {
                  long cpuStart = Figures.cpuNanos();
                  long done = work.run(number, () -> System.nanoTime() - start < nanosMax);
                  return new long[] {done, Figures.cpuNanos() - cpuStart};
                }));
      }
      long operations = 0;
      long cpuNanos = 0;
      for (Future<long[]> result : results) {
        operations += result.get()[0];
        cpuNanos += result.get()[1];
      }
      return new Outcome(operations, System.nanoTime() - start, cpuNanos);
    } catch (ExecutionException e) {
      if (e.getCause() instanceof RuntimeException cause) {
        throw cause;
      }
      throw new IllegalStateException("a worker failed", e);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    } finally {
      pool.shutdownNow();
    }
  }
}
