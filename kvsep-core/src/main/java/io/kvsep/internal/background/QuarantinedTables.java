package io.kvsep.internal.background;

import io.kvsep.error.StorageException;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.CorruptInput;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Tables that the device fails to read. Finds the one that made a compaction fail, quarantines it,
 * and rereads it ever more rarely until that succeeds. None is released while compactions are
 * paused: the pausing thread would not return to it. Thread safe.
 */
final class QuarantinedTables {
  private static final int TICKS_BETWEEN_LOOKS_MAX = 32;

  private final FileQuarantine spared;
  private final VersionSet versions;
  private final RunningCompactions running;
  private final Scheduler scheduler;
  private final Supplier<JobContext> contexts;
  private final Runnable goOn;

  /** Accessed only by the timer's thread. */
  private final RetryBackoff ticks = new RetryBackoff(TICKS_BETWEEN_LOOKS_MAX);

  private final AtomicBoolean scheduled = new AtomicBoolean();

  /**
   * @param goOn called when a table became readable
   */
  QuarantinedTables(
      FileQuarantine spared,
      VersionSet versions,
      RunningCompactions running,
      Scheduler scheduler,
      Supplier<JobContext> contexts,
      Runnable goOn) {
    this.spared = spared;
    this.versions = versions;
    this.running = running;
    this.scheduler = scheduler;
    this.contexts = contexts;
    this.goOn = goOn;
  }

  /**
   * Quarantines the table of a failed plan that the device fails to read; returns whether there is
   * one.
   */
  boolean spares(CompactionPlan plan, Throwable error) {
    if (!(error instanceof StorageException || error instanceof InternalError)) {
      return false;
    }
    try {
      TableFile table = CorruptInput.unreadable(contexts.get(), plan);
      if (table != null) {
        String name = StoreFiles.table(table.meta().number());
        spared.spareUnreadable(table, new StorageException("cannot read " + name, error));
      }
      return table != null;
    } catch (RuntimeException | Error e) {
      PageFaults.throwOther(e);
      // The store is closing. Report the first failure.
      error.addSuppressed(e);
      return false;
    }
  }

  /** Called once per tick. */
  void tick() {
    boolean any = spared.hasUnreadableTables();
    if (ticks.isDue(any) && any && scheduled.compareAndSet(false, true)) {
      Throwable refused = scheduler.tryExecute(Scheduler.Lane.COMPACTION, this::lookBeside);
      if (refused != null) {
        scheduled.set(false);
      }
    }
  }

  /** For the thread that has paused compactions. */
  void lookAlone() {
    look(
        forgets -> {
          forgets.run();
          return true;
        });
  }

  private void lookBeside() {
    boolean found;
    try {
      found = look(running::unlessPaused);
    } catch (RuntimeException | Error e) {
      PageFaults.throwOther(e);
      // The store is closing; a later tick retries.
      return;
    } finally {
      scheduled.set(false);
    }
    if (found) {
      goOn.run();
    }
  }

  /**
   * Rereads the tables and releases those that are readable; returns whether any was.
   *
   * @param gate may run its argument; returns whether it did
   */
  private boolean look(Predicate<Runnable> gate) {
    boolean found = false;
    Version version = versions.retainCurrent();
    try {
      for (TableFile table : spared.unreadableTablesIn(version)) {
        if (CorruptInput.isReadable(contexts.get(), table)) {
          found |= gate.test(() -> spared.forgetUnreadable(table));
        }
      }
    } finally {
      version.release();
    }
    return found;
  }
}
