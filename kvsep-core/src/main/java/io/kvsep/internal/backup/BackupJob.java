package io.kvsep.internal.backup;

import io.kvsep.internal.backup.BackupFormat.Header;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.read.PinnedReadState;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.write.LogTail;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * Writes the content of a store at one point in time, or the changes since an earlier backup.
 *
 * <p>Changes are the newest version of each key in the index, deletes included, if it is newer than
 * the earlier backup. Compaction drops deletes that hide nothing here but may hide an entry in a
 * store restored from the earlier backup. The manifest records the highest sequence number of a
 * dropped delete; if it is too high, the backup becomes a full one.
 */
final class BackupJob {
  private final EngineConfig config;
  private final StoreReads reads;
  private final VersionSet versions;
  private final LogTail logTail;

  BackupJob(EngineConfig config, StoreReads reads, VersionSet versions, LogTail logTail) {
    this.config = config;
    this.reads = reads;
    this.versions = versions;
    this.logTail = logTail;
  }

  /**
   * Writes a backup; returns the sequence number that it reaches.
   *
   * @param since that of an earlier backup, 0 for a full one
   * @param pulse called often; throws when the store is being closed
   */
  long run(OutputStream output, long since, Runnable pulse) throws IOException {
    while (true) {
      SortedMap<String, Integer> keyspaces = names();
      try (PinnedReadState moment = reads.moment()) {
        // Unchanged, so these belong to the pinned read state.
        if (keyspaces.equals(names())) {
          if (!config.mode().readOnly()) {
            // A power failure would let writes reuse sequence numbers of the backup, and the next
            // backup would skip them.
            logTail.sync();
          }
          return write(output, since, moment, keyspaces, pulse);
        }
      }
    }
  }

  private SortedMap<String, Integer> names() {
    return new TreeMap<>(versions.current().keyspaces());
  }

  private long write(
      OutputStream output,
      long since,
      PinnedReadState moment,
      SortedMap<String, Integer> keyspaces,
      Runnable pulse)
      throws IOException {
    long until = moment.sequence();
    if (since < 0 || since > until) {
      throw new IllegalArgumentException(
          "no backup of this store reaches " + since + ", it is at " + until);
    }
    boolean complete = since == 0 || moment.version().history().droppedDelete() > since;
    BackupWriter writer =
        new BackupWriter(output, new Header(versions.storeId(), complete, since, until));
    for (Map.Entry<String, Integer> keyspace : keyspaces.entrySet()) {
      writer.keyspace(keyspace.getValue(), keyspace.getKey());
    }
    if (!complete) {
      writeRanges(writer, moment, Set.copyOf(keyspaces.values()), since);
    }
    writeEntries(writer, moment, Keyspaces.DEFAULT, complete, since, pulse);
    for (int id : keyspaces.values()) {
      writeEntries(writer, moment, id, complete, since, pulse);
    }
    // The last blocks and records have not been checked yet.
    Region.requirePagesRead();
    writer.finish();
    return until;
  }

  /** Merges adjacent fragments. Skips dropped keyspaces. */
  private static void writeRanges(
      BackupWriter writer, PinnedReadState moment, Set<Integer> named, long since)
      throws IOException {
    RangeTombstones ranges = moment.ranges();
    byte[] from = null;
    byte[] to = null;
    for (int i = 0; i < ranges.count(); i++) {
      int keyspace = Keyspaces.of(ranges.start(i));
      if (ranges.newest(i, moment.sequence()) <= since
          || (keyspace != Keyspaces.DEFAULT && !named.contains(keyspace))) {
        continue;
      }
      boolean goesOn =
          from != null
              && to != null
              && Arrays.equals(to, ranges.start(i))
              && keyspace == Keyspaces.of(from);
      if (!goesOn) {
        if (from != null && to != null) {
          writer.range(from, to);
        }
        from = ranges.start(i);
      }
      to = ranges.end(i);
    }
    if (from != null && to != null) {
      writer.range(from, to);
    }
  }

  private static void writeEntries(
      BackupWriter writer,
      PinnedReadState moment,
      int keyspace,
      boolean complete,
      long since,
      Runnable pulse)
      throws IOException {
    long changedSince = complete ? StoreReads.EVERYTHING : since;
    try (SnapshotCursor cursor = moment.cursor(keyspace, changedSince)) {
      while (cursor.next()) {
        pulse.run();
        byte[] key = Keyspaces.storedKey(keyspace, cursor.key());
        if (cursor.isDelete()) {
          writer.delete(key);
        } else {
          ByteBuffer value = cursor.valueView();
          writer.put(key, cursor.expiresAtMillis(), value);
        }
      }
    }
  }
}
