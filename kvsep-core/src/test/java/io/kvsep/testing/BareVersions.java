package io.kvsep.testing;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;

/**
 * Versions as tests make them up, for what chooses files by what is known of them. No file of the
 * log is there, and only those tables that the test writes.
 */
public final class BareVersions implements AutoCloseable {
  public static final StoreId STORE = new StoreId(3, 4);

  public final CrashableStorage storage = new CrashableStorage();
  public final MemoryLedger ledger = new MemoryLedger();
  public final VersionSet set;

  public BareVersions() {
    try {
      set =
          VersionSet.create(
              storage, STORE, ledger, (tables, segments) -> {}, Readers.unbounded(ledger));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  public Version current() {
    return set.current();
  }

  /** A finished segment of the log, which recovery would not read again. */
  public long addSegment(long length) {
    long id = set.newSegmentId();
    set.apply(
        new VersionEdit()
            .addSegment(id)
            .sealSegment(id, length, SegmentState.UNKNOWN)
            .replayFrom(new LogPosition(id + 1, 0)));
    return id;
  }

  /** Moves all records of some segments into one new file of that length; its id. */
  public long relocate(Iterable<Long> segments, long length) {
    long file = set.newSegmentId();
    VersionEdit edit = new VersionEdit().addRelocated(file, length);
    segments.forEach(segment -> edit.relocateSegment(segment, file));
    set.apply(edit);
    return file;
  }

  /** What is known of a new table whose entries all have values in the log. */
  public TableMeta meta(byte[] smallestKey, byte[] largestKey, long bytes, List<SegmentUse> uses) {
    long number = set.newFileNumber();
    long entries = Math.max(1, uses.stream().mapToLong(SegmentUse::records).sum());
    return new TableMeta(
        number,
        bytes,
        smallestKey,
        largestKey,
        number,
        number,
        entries,
        0,
        0,
        0,
        entries,
        0,
        0,
        0,
        uses);
  }

  @Override
  public void close() {
    for (int level = 0; level < Version.LEVELS; level++) {
      current().level(level).forEach(TableFile::close);
    }
    set.close();
    assertEquals(0, ledger.totalBytes());
    assertEquals(List.of(), storage.openFiles());
  }
}
