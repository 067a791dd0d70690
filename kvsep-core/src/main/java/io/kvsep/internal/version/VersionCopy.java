package io.kvsep.internal.version;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Makes a store of a version: the files that no longer change, and a manifest. Omits segments to
 * which the log may still append, so that no file is written by two stores.
 */
public final class VersionCopy {
  private VersionCopy() {}

  /** Lengths of the tables and segments of the copy, by name. */
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

  /**
   * Names of the files of a closed store that no opening of it changes, other than by deleting them
   * or replacing them by name: the tables and sealed segments of its manifest.
   *
   * @throws NoSuchFileException if there is no store
   */
  public static Set<String> unchangingFiles(Storage storage, MemoryLedger ledger)
      throws IOException {
    if (!VersionSet.exists(storage)) {
      throw new NoSuchFileException(StoreFiles.CURRENT);
    }
    FileHeader current = CurrentFile.read(storage, ledger);
    EditReplay replay = ManifestReader.read(storage, current, ledger).replay();
    return replay.unchangingFiles();
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
   * Makes a store of the {@link #files} in a directory, whose contents must be durable. On return
   * all of it is, file names included.
   *
   * @param versions the set of {@code version}; it allocates numbers above those of all files
   */
  public static void write(
      VersionSet versions, Version version, Storage directory, MemoryLedger ledger)
      throws IOException {
    FileHeader header = new FileHeader(versions.storeId(), versions.newFileNumber());
    VersionEdit snapshot =
        EditReplay.snapshotOf(version, SegmentState::isSealed)
            .withCounters(header.number() + 1, versions.newSegmentId());
    // Nothing is written after the end that could prove its durability.
    snapshot.syncedLog(LogPosition.later(snapshot.syncedLog(), endOfLog(version)));
    DurableOutput output = new DurableOutput(directory, ledger);
    ManifestWriter.create(output, header, snapshot).close();
    CurrentFile.prepare(output, header);
    output.syncDirectory();
    CurrentFile.install(output);
  }
}
