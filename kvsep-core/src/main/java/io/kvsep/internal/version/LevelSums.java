package io.kvsep.internal.version;

import java.util.ArrayList;
import java.util.List;

/**
 * Sums over a level's tables.
 *
 * @param entries all versions and tombstones
 * @param records entries with a record in the value log
 * @param valueBytes of these records
 * @param expiryDueMillis when the first table is due because of expiry; {@link Long#MAX_VALUE} for
 *     never
 * @param tombstoneTables tables at least half of whose entries are tombstones
 * @param hidingTables tables with entries hidden by a newer one of the same key
 */
public record LevelSums(
    long entries,
    long records,
    long valueBytes,
    long expiryDueMillis,
    List<TableFile> tombstoneTables,
    List<TableFile> hidingTables) {
  static LevelSums of(TableFile[] tables) {
    long entries = 0;
    long records = 0;
    long valueBytes = 0;
    long expiryDueMillis = ExpiryEstimate.NEVER;
    List<TableFile> tombstoneTables = new ArrayList<>();
    List<TableFile> hidingTables = new ArrayList<>();
    for (TableFile table : tables) {
      entries += table.meta().entryCount();
      records += table.recordCount();
      valueBytes += table.valueBytes();
      expiryDueMillis = Math.min(expiryDueMillis, table.expiryDueMillis());
      if (2 * table.meta().tombstoneCount() >= table.meta().entryCount()) {
        tombstoneTables.add(table);
      }
      if (table.meta().hiddenCount() > 0) {
        hidingTables.add(table);
      }
    }
    return new LevelSums(
        entries,
        records,
        valueBytes,
        expiryDueMillis,
        List.copyOf(tombstoneTables),
        List.copyOf(hidingTables));
  }
}
