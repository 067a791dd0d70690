package io.kvsep.internal.background;

import io.kvsep.error.StorageException;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.CorruptInput;
import io.kvsep.internal.compaction.JobContext;
import io.kvsep.internal.concurrent.RetryBackoff;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionSet;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;

/**
 * Tables that the device does not give: finds the one behind a failed compaction, so that it is
 * spared, and reads it now and then, ever more rarely, until that goes well. Nothing that is spared
 * is let go while somebody has paused compactions, who would not come to it any more. Thread safe.
 */
final class QuarantinedTables {
  private static final int TICKS_BETWEEN_LOOKS_MAX = 32;

  private final FileQuarantine spared;
  private final VersionSet versions;
  private final RunningCompactions running;
  private final Scheduler scheduler;
  private final Supplier<JobContext> contexts;
  private final Runnable goOn;

  /** Of the timer's thread. */
  private final RetryBackoff ticks = new RetryBackoff(TICKS_BETWEEN_LOOKS_MAX);

  private final AtomicBoolean scheduled = new AtomicBoolean();

  /**
   * @param goOn is called when a table could be read again
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

  /** Spares a table of a plan that failed if the device does not give it; whether there is one. */
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
      // The store is closing, or there is no memory to look: what failed first is to be told.
      error.addSuppressed(e);
      return false;
    }
  }

  /** Called once a tick. */
  void tick() {
    boolean any = spared.hasUnreadableTables();
    if (ticks.isDue(any) && any && scheduled.compareAndSet(false, true)) {
      Throwable refused = scheduler.tryExecute(Scheduler.Lane.COMPACTION, this::lookBeside);
      if (refused != null) {
        scheduled.set(false);
      }
    }
  }

  /** Looks at once, for whoever has paused compactions. */
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
      // The store is closing, or there is no memory to look: there will be another tick.
      return;
    } finally {
      scheduled.set(false);
    }
    if (found) {
      goOn.run();
    }
  }

  /**
   * Reads the tables, and no longer spares those that can be read.
   *
   * @param gate runs what it is given, or does not; says whether it did
   * @return whether it ever did
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
