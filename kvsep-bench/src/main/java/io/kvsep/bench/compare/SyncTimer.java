package io.kvsep.bench.compare;

import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/**
 * Syncs an engine once a second if it does not do so itself, so that with {@link SyncMode#ASYNC}
 * all engines lose at most a second.
 */
final class SyncTimer implements AutoCloseable {
  private final @Nullable ScheduledExecutorService timer;
  private final AtomicReference<@Nullable RuntimeException> problem = new AtomicReference<>();

  private SyncTimer(@Nullable ScheduledExecutorService timer) {
    this.timer = timer;
  }

  static SyncTimer of(Engine engine, SyncMode mode) {
    if (mode != SyncMode.ASYNC || engine.syncsItself()) {
      return new SyncTimer(null);
    }
    ScheduledExecutorService service = Executors.newSingleThreadScheduledExecutor();
    SyncTimer timer = new SyncTimer(service);
    // A task that throws is not run again, and its future is not read.
    var unused = service.scheduleWithFixedDelay(() -> timer.sync(engine), 1, 1, TimeUnit.SECONDS);
    return timer;
  }

  private void sync(Engine engine) {
    try {
      engine.sync();
    } catch (RuntimeException e) {
      problem.compareAndSet(null, e);
      throw e;
    }
  }

  /** Stops the timer; throws the failure of a sync. */
  @Override
  public void close() {
    if (timer == null) {
      return;
    }
    timer.shutdown();
    try {
      if (!timer.awaitTermination(5, TimeUnit.MINUTES)) {
        throw new IllegalStateException("a sync took more than five minutes");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted", e);
    }
    RuntimeException thrown = problem.get();
    if (thrown != null) {
      throw thrown;
    }
  }
}
