package io.kvsep.internal.compaction;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCheck;
import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * Finds the table that made a compaction fail on data no writer produces: entries out of order,
 * invalid pointers, more record bytes than the manifest says. Accidental damage fails a checksum
 * first, so merging does not look for this; the tables are read again after such a failure.
 */
public final class CorruptInput {
  private CorruptInput() {}

  /**
   * The problem of the plan's first damaged table, with {@code error} suppressed in it; {@code
   * error} itself if all are sound or the job was cancelled.
   */
  public static RuntimeException behind(
      RuntimeException error, JobContext context, CompactionPlan plan) {
    if (error instanceof CancellationException || plan.move()) {
      return error;
    }
    List<CorruptionException> problems = new ArrayList<>();
    try {
      for (TableFile table : plan.tables()) {
        check(table, context, problems);
        if (!problems.isEmpty()) {
          CorruptionException damage = problems.get(0);
          damage.addSuppressed(error);
          return damage;
        }
      }
    } catch (CancellationException | StorageException e) {
      error.addSuppressed(e);
    }
    return error;
  }

  /**
   * The first table of the plan that the device fails to read, null if all are readable. Damage is
   * ignored.
   */
  public static @Nullable TableFile unreadable(JobContext context, CompactionPlan plan) {
    for (TableFile table : plan.tables()) {
      if (!isReadable(context, table)) {
        return table;
      }
    }
    return null;
  }

  /** Whether the device can read the whole table, damaged or not. */
  public static boolean isReadable(JobContext context, TableFile table) {
    try {
      check(table, context, new ArrayList<>());
      Region.requirePagesRead();
      return true;
    } catch (StorageException e) {
      return false;
    } catch (InternalError e) {
      if (!PageFault.is(e)) {
        throw e;
      }
      return false;
    }
  }

  private static void check(
      TableFile table, JobContext context, List<CorruptionException> problems) {
    try (TableCheck check =
        TableCheck.open(
            context.storage(),
            table.meta().number(),
            context.config().tableOptions(/* level= */ 0).storeId(),
            context.ledger(),
            problems::add)) {
      if (check != null) {
        check.run(
            (offset, key, keyLength, tag, payload, payloadOffset, payloadLength) -> {},
            () -> giveUpIf(context.cancelled().getAsBoolean()));
        check.compareWithManifest(table.meta());
      }
    }
  }

  private static void giveUpIf(boolean cancelled) {
    if (cancelled) {
      throw new CancellationException("the store is closing");
    }
  }
}
