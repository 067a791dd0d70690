package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Finds a table whose edit a manifest has lost. An unknown table is no proof: tables are complete
 * before their edit. But the log is durable before a flush writes a table, and compactions write
 * entries of other tables. So the entries of a complete table precede the end of the log, or belong
 * to a bulk load that a crash ended.
 */
public final class UnknownTables {
  private UnknownTables() {}

  /**
   * A complete table with a sequence number beyond log and manifest; null if none.
   *
   * @param known numbers of the tables in the manifest
   * @param lastSequence highest sequence number in log and manifest
   */
  public static @Nullable String ahead(
      Storage storage,
      Collection<String> names,
      Set<Long> known,
      StoreId storeId,
      MemoryLedger ledger,
      long lastSequence) {
    for (String name : names) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE
          && !known.contains(StoreFiles.numberOf(name))
          && sequence(storage, StoreFiles.numberOf(name), storeId, ledger) > lastSequence) {
        return name;
      }
    }
    return null;
  }

  /** Returns 0 if the table is incomplete, of another store or of a bulk load. */
  private static long sequence(Storage storage, long number, StoreId storeId, MemoryLedger ledger) {
    List<CorruptionException> problems = new ArrayList<>();
    try (TableCheck table = TableCheck.open(storage, number, storeId, ledger, problems::add)) {
      if (table == null) {
        return 0;
      }
      TableMeta said = table.readProperties();
      return said == null || !problems.isEmpty() || table.isLoaded() ? 0 : said.largestSequence();
    }
  }
}
