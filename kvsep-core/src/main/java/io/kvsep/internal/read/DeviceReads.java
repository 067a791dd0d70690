package io.kvsep.internal.read;

import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.runtime.Scheduler;
import io.kvsep.internal.runtime.Scheduler.Lane;
import io.kvsep.internal.vlog.ReadBatch;
import io.kvsep.internal.vlog.ValueReader;

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
  void start(ReadBatch batch, ValueReader.Scratch scratch) {
    batch.runUntilSlow(scratch);
    int helpers = Math.min(batch.waiting(), Scheduler.READS);
    // Where there is no thread, whoever has come so far has to do.
    while (helpers > 0 && scheduler.tryExecute(Lane.READ, () -> run(batch)) == null) {
      helpers--;
    }
  }

  private void run(ReadBatch batch) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      try {
        batch.run(slot.context().scratch);
      } finally {
        slot.context().scratch.trim();
      }
    } finally {
      epochs.exit(slot);
    }
  }
}
