package io.kvsep.internal.version;

import java.util.ArrayList;
import java.util.List;

/**
 * What the tables of a level hold together: counted once, when the level is made.
 *
 * @param entries every version and tombstone
 * @param records entries that point to a record in the log
 * @param valueBytes bytes of these records
 * @param expiryDueMillis when the first of the tables is due because so much of it has expired;
 *     {@link Long#MAX_VALUE} for never
 * @param tombstoneTables tables at least half of whose entries are tombstones
 */
public record LevelSums(
    long entries,
    long records,
    long valueBytes,
    long expiryDueMillis,
    List<TableFile> tombstoneTables) {
  static LevelSums of(TableFile[] tables) {
    long entries = 0;
    long records = 0;
    long valueBytes = 0;
    long expiryDueMillis = ExpiryEstimate.NEVER;
    List<TableFile> tombstoneTables = new ArrayList<>();
    for (TableFile table : tables) {
      entries += table.meta().entryCount();
      records += table.recordCount();
      valueBytes += table.valueBytes();
      expiryDueMillis = Math.min(expiryDueMillis, table.expiryDueMillis());
      if (2 * table.meta().tombstoneCount() >= table.meta().entryCount()) {
        tombstoneTables.add(table);
      }
    }
    return new LevelSums(
        entries, records, valueBytes, expiryDueMillis, List.copyOf(tombstoneTables));
  }
}
