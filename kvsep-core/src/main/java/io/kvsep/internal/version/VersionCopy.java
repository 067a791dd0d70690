package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;

/**
 * A version as a store of its own: the files that do not change any more, and the manifest that
 * makes a store of them. Segments to which the log may still append are left out, so that no file
 * is ever written into by two stores.
 */
public final class VersionCopy {
  private VersionCopy() {}

  /** Names and lengths of the tables and segments that belong to it. */
  public static Map<String, Long> files(Version version) {
    Map<String, Long> files = new TreeMap<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        files.put(StoreFiles.table(table.meta().number()), table.meta().fileBytes());
      }
    }
    for (SegmentState segment : version.segments().values()) {
      if (segment.hasFile() && segment.isSealed()) {
        files.put(StoreFiles.segment(segment.id()), segment.sealedLength());
      }
    }
    return files;
  }

  private static LogPosition endOfLog(Version version) {
    LogPosition end = LogPosition.START;
    for (SegmentState segment : version.segments().values()) {
      if (segment.isLog() && segment.isSealed()) {
        end = new LogPosition(segment.id(), segment.sealedLength());
      }
    }
    return end;
  }

  /**
   * Makes a store of the {@link #files} that are in a directory already. All of it is durable when
   * this returns, the names of those files, too; what is in them has to be before.
   *
   * @param versions those of the store that the version is of; numbers are taken from there, so
   *     that none is below that of a file
   */
  public static void write(
      VersionSet versions, Version version, Storage directory, MemoryLedger ledger)
      throws IOException {
    FileHeader header = new FileHeader(versions.storeId(), versions.newFileNumber());
    VersionEdit snapshot =
        EditReplay.snapshotOf(version, SegmentState::isSealed)
            .withCounters(header.number() + 1, versions.newSegmentId());
    // Nothing is written behind it, by which that could be told from the log itself.
    snapshot.syncedLog(LogPosition.later(snapshot.syncedLog(), endOfLog(version)));
    DurableOutput output = new DurableOutput(directory, ledger);
    ManifestWriter.create(output, header, snapshot).close();
    CurrentFile.prepare(output, header);
    output.syncDirectory();
    CurrentFile.install(output);
  }
}
