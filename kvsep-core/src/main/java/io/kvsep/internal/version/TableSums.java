package io.kvsep.internal.version;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.sstable.TableMeta;

/**
 * Estimated sums over tables.
 *
 * @param entries keys that the tables add to those below: puts without the hidden ones, and one
 *     less for each tombstone
 * @param keyBytes bytes of the user keys of these entries
 * @param fileBytes bytes of the tables
 * @param valueBytes bytes of the log records to which the tables refer
 */
public record TableSums(double entries, double keyBytes, double fileBytes, double valueBytes) {
  public static final TableSums NONE = new TableSums(0, 0, 0, 0);

  public static TableSums of(TableFile table) {
    TableMeta meta = table.meta();
    // A tombstone cancels itself and the entry that it deletes.
    double entries = meta.entryCount() - meta.hiddenCount() - 2.0 * meta.tombstoneCount();
    int prefix = Keyspaces.prefixLength(Keyspaces.of(meta.smallestKey()));
    double keyLength = meta.keyBytes() / (double) Math.max(1, meta.entryCount()) - prefix;
    return new TableSums(
        entries, entries * Math.max(0, keyLength), meta.fileBytes(), table.valueBytes());
  }

  public TableSums plus(TableSums other) {
    return new TableSums(
        entries + other.entries,
        keyBytes + other.keyBytes,
        fileBytes + other.fileBytes,
        valueBytes + other.valueBytes);
  }

  public TableSums minus(TableSums other) {
    return new TableSums(
        entries - other.entries,
        keyBytes - other.keyBytes,
        fileBytes - other.fileBytes,
        valueBytes - other.valueBytes);
  }
}
