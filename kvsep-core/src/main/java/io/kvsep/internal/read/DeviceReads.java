package io.kvsep.internal.read;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.vlog.ReadBatch;
import java.util.function.Consumer;

/**
 * Lets other threads help to read a batch of records into memory; the caller reads what is left.
 * Thread safe.
 */
final class DeviceReads {
  private final Scheduler scheduler;
  private final Epochs<ReadContext> epochs;
  private final Ticker ticker;

  DeviceReads(Scheduler scheduler, Epochs<ReadContext> epochs, Ticker ticker) {
    this.scheduler = scheduler;
    this.epochs = epochs;
    this.ticker = ticker;
  }

  long nanos() {
    return ticker.nanos();
  }

  /**
   * Starts a prepared batch. The caller, inside the epochs, reads what is in memory: waking a
   * thread takes longer.
   */
  void start(ReadBatch batch) {
    batch.runUntilSlow();
    help(batch.waiting(), context -> batch.run());
  }

  /** Runs {@code work} inside the epochs on up to {@code threads} other threads. */
  void help(int threads, Consumer<ReadContext> work) {
    int helpers = Math.min(threads, Scheduler.READS);
    // The threads already started must suffice.
    while (helpers > 0 && scheduler.tryExecute(Lane.READ, () -> run(work)) == null) {
      helpers--;
    }
  }

  private void run(Consumer<ReadContext> work) {
    epochs.inside(
        context -> {
          try {
            work.accept(context);
          } finally {
            context.trim();
          }
          return true;
        });
  }
}
