package io.kvsep.internal.read;

import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.vlog.ReadBatch;
import java.util.function.Consumer;

/**
 * Lets other threads help to bring a batch of records into memory. Nobody has to come: whoever
 * finishes the batch reads what is left. Thread safe.
 */
final class DeviceReads {
  private final Scheduler scheduler;
  private final Epochs<ReadContext> epochs;

  DeviceReads(Scheduler scheduler, Epochs<ReadContext> epochs) {
    this.scheduler = scheduler;
    this.epochs = epochs;
  }

  /**
   * Starts a prepared batch. The caller, inside the epochs, reads himself as long as that is done
   * from memory, because waking a thread would take longer; the rest is left to others.
   */
  void start(ReadBatch batch) {
    batch.runUntilSlow();
    help(batch.waiting(), context -> batch.run());
  }

  /** Has up to so many other threads do something inside the epochs. */
  void help(int threads, Consumer<ReadContext> work) {
    int helpers = Math.min(threads, Scheduler.READS);
    // If there is no thread, those that there are have to do.
    while (helpers > 0 && scheduler.tryExecute(Lane.READ, () -> run(work)) == null) {
      helpers--;
    }
  }

  private void run(Consumer<ReadContext> work) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      try {
        work.accept(slot.context());
      } finally {
        slot.context().trim();
      }
    } finally {
      epochs.exit(slot);
    }
  }
}
