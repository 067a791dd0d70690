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
 * Tells whether a manifest has lost the edit of a table. One that it does not know is no sign of
 * that: tables are whole before their edit is begun. But the log is durable before a flush writes a
 * table, and compactions write what other tables have: so whatever is in a table that is whole was
 * written before the end of the log, or is that of a bulk load that a crash has ended.
 */
public final class UnknownTables {
  private UnknownTables() {}

  /**
   * Name of a whole table with a sequence number that neither log nor manifest know, null when
   * there is none.
   *
   * @param names of the files there are
   * @param known numbers of the tables of the manifest
   * @param lastSequence the highest number that they know
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

  /** The highest one in a table, 0 where it is not whole, of another store, or of a load. */
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
