package io.kvsep.internal.sstable;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;

/**
 * Tells foreign, too old, too new and damaged files apart by their first bytes, whose layout is the
 * same in every version, see {@link TableFormat}. What the checksum does not cover as written is
 * damage; only a sound header is asked for its version and its store.
 */
final class TableHeader {
  private TableHeader() {}

  static void verify(String file, Region table, long number, StoreId storeId, NativeWindow window) {
    if (table.length() >= 8 && table.getLong(0) != TableFormat.MAGIC) {
      throw new IncompatibleFormatException(file, Reason.FOREIGN, "not a table of kvsep");
    }
    if (table.length() < TableFormat.HEADER_BYTES) {
      throw new CorruptionException(
          file,
          table.length(),
          "a header of " + TableFormat.HEADER_BYTES + " bytes",
          "end of file");
    }
    int expected = table.getInt(36);
    int found = window.crc32c(table, 0, 36);
    if (found != expected) {
      throw TableFormat.checksumMismatch(file, 0, expected, found);
    }
    int version = table.getInt(8);
    if (version > TableFormat.VERSION) {
      throw incompatible(file, Reason.TOO_NEW, version);
    }
    if (version < TableFormat.VERSION_MIN) {
      throw incompatible(file, Reason.TOO_OLD, version);
    }
    StoreId owner = new StoreId(table.getLong(12), table.getLong(20));
    if (!owner.equals(storeId)) {
      throw new IncompatibleFormatException(
          file, Reason.FOREIGN, "belongs to store " + owner + ", not to " + storeId);
    }
    long numberFound = table.getLong(28);
    if (numberFound != number) {
      throw new CorruptionException(file, 28, "table " + number, "table " + numberFound);
    }
  }

  private static IncompatibleFormatException incompatible(String file, Reason reason, int version) {
    return new IncompatibleFormatException(
        file,
        reason,
        "table format "
            + version
            + ", this version reads "
            + TableFormat.VERSION_MIN
            + " to "
            + TableFormat.VERSION);
  }
}
