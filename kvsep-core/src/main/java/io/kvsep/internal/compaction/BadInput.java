package io.kvsep.internal.compaction;

import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableCheck;
import io.kvsep.internal.version.TableFile;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CancellationException;
import org.jspecify.annotations.Nullable;

/**
 * The table that made a compaction fail. The tables are read again to find it: a device error names
 * no table, and merging does not look for data that no writer produces, such as entries out of
 * order.
 *
 * @param file name of the table
 * @param problem why it cannot be compacted
 */
public record BadInput(String file, KvException problem) {
  /**
   * The first table of a failed plan that is damaged or that the device fails to read; null if
   * there is none, or if the store is closing.
   */
  public static @Nullable BadInput find(JobContext context, CompactionPlan plan, Throwable error) {
    for (TableFile table : plan.tables()) {
      String file = StoreFiles.table(table.meta().number());
      List<KvException> problems = new ArrayList<>();
      try {
        check(table, context, problems);
        Region.requirePagesRead();
      } catch (StorageException | InternalError e) {
        problems.add(0, PageFaults.error("cannot read " + file, e));
      } catch (CancellationException e) {
        return null;
      }
      if (!problems.isEmpty()) {
        KvException problem = problems.get(0);
        problem.addSuppressed(error);
        // A page that was lost under the merge may be a short file when it is opened again.
        boolean isLostPage = error instanceof InternalError;
        return new BadInput(
            file, isLostPage ? PageFaults.error("cannot read " + file, error) : problem);
      }
    }
    return null;
  }

  private static void check(TableFile table, JobContext context, List<KvException> problems) {
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
            () -> {
              if (context.cancelled().getAsBoolean()) {
                throw new CancellationException("the store is closing");
              }
            });
        check.compareWithManifest(table.meta());
      }
    }
  }
}
