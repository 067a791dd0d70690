package io.kvsep.internal.repair;

import io.kvsep.RepairReport;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.PageFault;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.SalvagedManifest;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.vlog.RecordReader;
import io.kvsep.internal.vlog.Segment;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Writes the newest verifiable value of each key of a damaged store to a new one.
 *
 * <p>Merges tables and sorted log records in key order. The newest version of a key counts, unless
 * a newer delete of it or its range is known. Sequence numbers decide what is uncertain: a version
 * is certain if no newer one of its key can be among the lost data.
 *
 * <p>Remembers single entries only to report them. Not thread safe.
 */
public final class Repair {
  private final Input input;
  private final Losses losses = new Losses();
  private final LostKeys lostKeys = new LostKeys();
  private final DamagedFiles directory;
  private final AtomicLong runNumbers = new AtomicLong(1);
  private final GrowingRegion keyMemory;

  /**
   * What a repair reads and writes.
   *
   * @param damaged only read
   * @param scratch for sorting; deleted by the caller
   * @param target new and empty, with a clock fixed at {@code nowMillis}
   * @param nowMillis decides what has expired
   * @param sortBytes off-heap memory for sorting, used twice
   */
  public record Input(
      Storage damaged,
      Storage scratch,
      StorageEngine target,
      MemoryLedger ledger,
      long nowMillis,
      long sortBytes) {
    public Input(
        Storage damaged, Storage scratch, StorageEngine target, long nowMillis, long sortBytes) {
      this(damaged, scratch, target, new MemoryLedger(), nowMillis, sortBytes);
    }
  }

  private Repair(Input input) {
    this.input = input;
    this.directory = new DamagedFiles(input.damaged(), input.ledger());
    this.keyMemory = new GrowingRegion(input.ledger(), MemoryPurpose.READ);
  }

  /**
   * Repairs a store into a new one.
   *
   * @throws CorruptionException if the directory contains no trace of a store
   * @throws StorageException if a device operation failed
   */
  public static RepairReport run(Input input) {
    return run(input, List.of(), () -> 0);
  }

  /**
   * Repairs a store, at the end of a call that has begun earlier.
   *
   * @param notes precede the notes of the repair
   * @param nanos duration of the call so far, including a first attempt
   */
  public static RepairReport run(Input input, List<String> notes, LongSupplier nanos) {
    Repair repair = new Repair(input);
    try {
      repair.losses.notes.addAll(notes);
      return repair.run(nanos);
    } catch (IOException e) {
      throw new StorageException("cannot repair " + input.damaged().location(), e);
    } catch (InternalError e) {
      if (!PageFault.is(e)) {
        throw e;
      }
      throw new StorageException("cannot repair " + input.damaged().location(), e);
    } finally {
      repair.keyMemory.close();
    }
  }

  private RepairReport run(LongSupplier nanos) throws IOException {
    SalvagedManifest manifest =
        SalvagedManifest.read(
            input.damaged(),
            input.ledger(),
            new LostEdits(input.damaged(), input.ledger()),
            directory);
    StoreId storeId = manifest.storeId();
    if (storeId == null) {
      throw new CorruptionException(
          StoreFiles.CURRENT, 0, "files of a store", "none in " + input.damaged().location());
    }
    for (CorruptionException problem : manifest.problems()) {
      losses.add(problem, directory.exists(problem.file()) ? directory.length(problem.file()) : 1);
    }
    RepairTarget target = new RepairTarget(input.target(), input.nowMillis(), manifest.keyspaces());
    if (manifest.sound()) {
      target.makeKeyspaces();
    } else {
      losses.notes.add(
          "There is no manifest that can be relied on: every table and file of the log in the"
              + " directory was taken for a part of the store, and one that is missing besides"
              + " would not be noticed.");
      if (!manifest.keyspaces().isEmpty()) {
        losses.notes.add(
            "Keyspaces have the names that the part of the manifest that holds gives them: one that"
                + " was dropped later is there again.");
      }
    }
    try (TableSource tables =
            new TableSource(input.damaged(), storeId, input.ledger(), directory, losses, lostKeys);
        RecordReader reader = new RecordReader(input.damaged(), input.ledger());
        SortedRuns runs = newRuns();
        SortedRuns relocatedRuns = newRuns()) {
      readTables(manifest, storeId, tables);
      boolean fromAll = !manifest.sound() || !lostKeys.isEmpty();
      LogSource log = new LogSource(input.damaged(), storeId, runs, lostKeys, losses);
      readLog(manifest, storeId, log, reader, fromAll);
      compareEnds(manifest, tables, log);
      if (fromAll && log.gapCount() > 0) {
        losses.notes.add(
            "The log does not have all writes in front of sequence number "
                + log.gapEnd()
                + ", in "
                + log.gapCount()
                + " places: reclaim drops files whose values are elsewhere, and with them deletes"
                + " and short values that only tables have.");
      }
      if (fromAll) {
        log.readRelocated(reader, relocatedRuns, !manifest.sound());
      }
      Sources sources =
          new Sources(manifest, tables, log, reader, tables.ranges(), log.ranges(), fromAll);
      try (Versions inTables = new Versions(tables.merged());
          Versions inLog = new Versions(runs.merged());
          Versions relocated = new Versions(relocatedRuns.merged())) {
        merge(sources, inTables, inLog, relocated, target);
      }
      // Reported losses may be due to a page that could not be read this time.
      Region.requirePagesRead();
      target.finish();
      return report(manifest, tables, log, target, nanos);
    }
  }

  private void compareEnds(SalvagedManifest manifest, TableSource tables, LogSource log) {
    if (manifest.sound()) {
      log.endsNotBefore(manifest.lastSequence());
      return;
    }
    if (tables.doubtLoads(log.endSequence())) {
      losses.notes.add(
          "The newest tables are those of a bulk load, as far as can be seen, and nothing tells"
              + " whether it had come into force: its keys were restored and are listed as"
              + " uncertain.");
    }
    log.endsNotBefore(tables.largestSequence());
    if (tables.count() == 0 && (log.gapCount() > 0 || hasDroppedFiles())) {
      losses.notes.add(
          "Files of the log were dropped by reclaim, and neither manifest nor tables tell whether"
              + " the last ones were among them: any key may have been deleted later.");
      log.endIsUnknown();
    }
  }

  /** Ids of log files are consecutive from 1. */
  private boolean hasDroppedFiles() {
    long next = 1;
    for (long id : directory.numbers(StoreFiles.Kind.SEGMENT)) {
      if (id != next++ || directory.isRelocated(id)) {
        return true;
      }
    }
    return false;
  }

  private SortedRuns newRuns() {
    return new SortedRuns(
        input.scratch(), input.ledger(), runNumbers::getAndIncrement, input.sortBytes());
  }

  private RepairReport report(
      SalvagedManifest manifest,
      TableSource tables,
      LogSource log,
      RepairTarget target,
      LongSupplier nanos) {
    return new RepairReport(
        manifest.sound(),
        tables.count() + (long) log.count(),
        tables.bytes() + log.bytes(),
        target.keys(),
        target.valueBytes(),
        losses.lossCount,
        losses.losses,
        losses.uncertainCount,
        losses.uncertain,
        losses.notes,
        nanos.getAsLong() / 1e9);
  }

  private void readTables(SalvagedManifest manifest, StoreId storeId, TableSource tables) {
    if (manifest.sound()) {
      for (TableMeta table : manifest.tables()) {
        tables.add(table.number(), table);
      }
      return;
    }
    for (long number : directory.numbers(StoreFiles.Kind.TABLE)) {
      if (isOurs(StoreFiles.table(number), storeId)) {
        tables.add(number, null);
      }
    }
  }

  private boolean isOurs(String name, StoreId storeId) {
    StoreId owner = directory.ownerOf(name);
    if (owner != null && !owner.equals(storeId)) {
      losses.add(name, 0, Math.max(1, directory.length(name)), "a file of another store");
      return false;
    }
    return true;
  }

  /** Only the part not in tables yet, unless {@code fromAll}. */
  private void readLog(
      SalvagedManifest manifest,
      StoreId storeId,
      LogSource log,
      RecordReader reader,
      boolean fromAll) {
    List<LogSource.Part> parts = new ArrayList<>();
    LogPosition from = manifest.replayFrom();
    if (manifest.sound()) {
      for (SegmentState state : manifest.segments().values()) {
        if (state.relocated() && state.hasFile()) {
          addRelocated(reader, state.id(), state.sealedLength());
        } else if (state.isLog() && isPresent(state.id(), storeId)) {
          reader.addSegment(state.id());
          boolean replayed = state.id() >= from.segment();
          long start = state.id() == from.segment() ? from.offset() : 0;
          requireReached(state, start);
          if (replayed || fromAll) {
            parts.add(
                new LogSource.Part(
                    state.id(), replayed ? start : Long.MAX_VALUE, state.sealedLength()));
          }
        }
      }
    } else {
      for (long id : directory.numbers(StoreFiles.Kind.SEGMENT)) {
        if (!isOurs(StoreFiles.segment(id), storeId)) {
          continue;
        }
        if (directory.isRelocated(id)) {
          addRelocated(reader, id, SegmentState.GROWING);
        } else {
          reader.addSegment(id);
          parts.add(new LogSource.Part(id, 0, SegmentState.GROWING));
        }
      }
    }
    List<LogSource.Part> written = withoutSpare(parts);
    LogSource.Part spare = written.size() < parts.size() ? parts.get(written.size()) : null;
    log.read(withoutTornEnd(manifest, storeId, written, spare));
  }

  /** Reports a log that ends before the replay position, up to which it was synced. */
  private void requireReached(SegmentState state, long start) {
    String name = StoreFiles.segment(state.id());
    long length = directory.length(name);
    // The audit checks segments of known length.
    if (length < start && !state.isSealed()) {
      losses.add(
          name, length, start, "writes, of keys that are not known: the end of the file is lost");
    }
  }

  /** Removes the spare. */
  private List<LogSource.Part> withoutSpare(List<LogSource.Part> parts) {
    int last = parts.size() - 1;
    return last > 0
            && directory.length(StoreFiles.segment(parts.get(last).segment()))
                == Segment.EMPTY_BYTES
        ? parts.subList(0, last)
        : parts;
  }

  private boolean isPresent(long segment, StoreId storeId) {
    String name = StoreFiles.segment(segment);
    if (!directory.exists(name)) {
      losses.add(name, 0, 1, "a whole segment of the log");
      return false;
    }
    return isOurs(name, storeId);
  }

  private void addRelocated(RecordReader reader, long id, long length) {
    CorruptionException problem = reader.addRelocated(id, length);
    if (problem != null) {
      losses.add(problem, Math.max(1, directory.length(StoreFiles.segment(id))));
    }
  }

  /** Removes what a crash left after the end of the log, as opening does. */
  private List<LogSource.Part> withoutTornEnd(
      SalvagedManifest manifest,
      StoreId storeId,
      List<LogSource.Part> parts,
      LogSource.@Nullable Part spare) {
    int first = Math.max(0, parts.size() - 1);
    while (manifest.sound() && first > 0 && parts.get(first - 1).from() != Long.MAX_VALUE) {
      first--;
    }
    // Without a manifest a table may never have been installed, nor the log synced for it.
    long inTables =
        manifest.sound()
            ? manifest.tables().stream().mapToLong(TableMeta::largestSequence).max().orElse(0)
            : 0;
    LogSource.Tail tail =
        LogSource.tail(
            input.damaged(),
            storeId,
            parts.subList(first, parts.size()),
            spare,
            manifest.syncedLog(),
            inTables);
    if (tail == null) {
      return parts;
    }
    LogPosition torn = tail.at();
    if (tail.lost()) {
      // Neither the audit nor a torn end would show a part that is missing completely.
      losses.add(
          StoreFiles.segment(torn.segment()),
          torn.offset(),
          torn.offset() + 1,
          "writes, of keys that are not known: more of the log had been synced than" + " there is");
      return parts;
    }
    for (LogSource.Part part : parts) {
      if (part.segment() >= torn.segment()) {
        String name = StoreFiles.segment(part.segment());
        long from = part.segment() == torn.segment() ? torn.offset() : 0;
        losses.add(
            name,
            from,
            Math.max(from + 1, directory.length(name)),
            "the end of the log: writes that were never complete, or damage to the last ones");
      }
    }
    List<LogSource.Part> kept = new ArrayList<>();
    for (LogSource.Part part : parts) {
      if (part.segment() < torn.segment()) {
        kept.add(part);
      } else if (part.segment() == torn.segment()) {
        kept.add(new LogSource.Part(part.segment(), part.from(), torn.offset()));
      }
    }
    return kept;
  }

  private record Sources(
      SalvagedManifest manifest,
      TableSource tables,
      LogSource log,
      RecordReader reader,
      RangeTombstones tableRanges,
      RangeTombstones logRanges,
      boolean fromAll) {}

  private void merge(
      Sources sources, Versions inTables, Versions inLog, Versions relocated, RepairTarget target) {
    for (byte[] key = least(inTables, inLog, relocated);
        key != null;
        key = least(inTables, inLog, relocated)) {
      restore(
          sources,
          key,
          inTables.isAt(key) ? inTables : null,
          inLog.isAt(key) ? inLog : null,
          relocated.isAt(key) ? relocated : null,
          target);
      for (Versions versions : List.of(inTables, inLog, relocated)) {
        if (versions.isAt(key)) {
          versions.advance();
        }
      }
    }
  }

  private static byte @Nullable [] least(Versions... sources) {
    byte[] least = null;
    for (Versions source : sources) {
      byte[] key = source.key();
      if (key != null && (least == null || Arrays.compareUnsigned(key, least) < 0)) {
        least = key;
      }
    }
    return least;
  }

  private void restore(
      Sources sources,
      byte[] key,
      @Nullable Versions inTables,
      @Nullable Versions inLog,
      @Nullable Versions relocated,
      RepairTarget target) {
    Versions other = inTables;
    if (inLog != null && (other == null || inLog.sequence() > other.sequence())) {
      other = inLog;
    }
    boolean moved = relocated != null && isNewer(sources, key, relocated, other);
    // The table that pointed to the record would still do so, or was replaced by something newer.
    boolean dead = other != null && tablesKnow(sources, key);
    Versions newest = moved && !dead ? relocated : other;
    if (newest == null) {
      return;
    }
    boolean gone = isGone(sources, key, newest);
    boolean doubtful = newest == inTables && newest.sequence() >= sources.tables().doubtfulFrom();
    if (gone
        && !doubtful
        && (newest != relocated || other == null || isGone(sources, key, other))) {
      return;
    }
    int keyspace = RepairTarget.keyspaceOf(key);
    SalvagedManifest manifest = sources.manifest();
    boolean named = keyspace >= 0 && target.name(keyspace) != null;
    if (keyspace < 0 || (manifest.sound() && keyspace < manifest.nextKeyspace() && !named)) {
      // Its keyspace was dropped; a keyspace unknown to the manifest was created by a lost edit.
      return;
    }
    boolean certain = !moved && !doubtful && isCertain(sources, key, newest, inTables);
    boolean kept = !gone && (certain || !isLeftOut(sources, key, newest, inTables));
    String name = target.name(keyspace);
    name = name == null ? invent(keyspace, target) : name;
    byte[] userKey = RepairTarget.userKey(key);
    if (!certain) {
      losses.addUncertain(name, userKey, kept);
    }
    byte[] value = kept ? value(sources.reader(), newest, key, name, userKey) : null;
    if (value != null) {
      target.put(keyspace, userKey, value, newest.expiresAtMillis());
    }
  }

  /**
   * Whether the relocated record is newer. Its sequence number is an estimate. Its position is
   * exact if it is one in the log; it is one in a blob file, which says nothing, if the record
   * moved again after a compaction had pointed to that file. The manifest drops a segment once all
   * tables point to the new positions; the relocated records then show its kind.
   */
  private boolean isNewer(
      Sources sources, byte[] key, Versions relocated, @Nullable Versions other) {
    if (other == null) {
      return true;
    }
    if (sources.manifest().sound()) {
      SegmentState state = sources.manifest().segments().get(relocated.segment());
      boolean ofLog =
          state == null ? sources.log().wasOfLog(relocated.segment()) : !state.relocated();
      // The entry that pointed to it is among the lost ones.
      if (!ofLog || other.sequence() > lostKeys.largestSequence(key)) {
        return false;
      }
    }
    if (other.isPointer()) {
      LogPosition place = new LogPosition(other.segment(), other.offset());
      return place.compareTo(new LogPosition(relocated.segment(), relocated.offset())) < 0;
    }
    return relocated.sequence() > other.sequence();
  }

  private boolean isGone(Sources sources, byte[] key, Versions version) {
    return version.isDelete()
        || version.expiresAtMillis() <= input.nowMillis()
        || isDeleted(sources, key, version.sequence());
  }

  private boolean isDeleted(Sources sources, byte[] key, long sequence) {
    Region region = keyMemory.ensure(key.length);
    region.put(0, key, 0, key.length);
    return sources.tableRanges().covering(region, 0, key.length, Long.MAX_VALUE) > sequence
        || sources.logRanges().covering(region, 0, key.length, Long.MAX_VALUE) > sequence;
  }

  /** Whether no newer version of the key can be among the lost data. */
  private boolean isCertain(
      Sources sources, byte[] key, Versions newest, @Nullable Versions inTables) {
    boolean complete = newest.sequence() >= sources.log().completeFrom();
    if (newest == inTables) {
      return newest.sequence() > lostKeys.largestSequence(key) || (sources.fromAll() && complete);
    }
    return complete;
  }

  /**
   * Whether complete tables contradict the log: the key was deleted, and its delete was in a
   * missing segment.
   */
  private boolean isLeftOut(
      Sources sources, byte[] key, Versions newest, @Nullable Versions inTables) {
    return inTables == null
        && newest.sequence() <= sources.tables().settledSequence()
        && tablesKnow(sources, key);
  }

  /** Whether there is no manifest, but the tables have no known losses for the key. */
  private boolean tablesKnow(Sources sources, byte[] key) {
    return !sources.manifest().sound() && sources.tables().count() > 0 && !lostKeys.contains(key);
  }

  private String invent(int keyspace, RepairTarget target) {
    String name = target.invent(keyspace);
    losses.notes.add(
        "The name of a keyspace is lost with the manifest; its entries are in " + name + ".");
    return name;
  }

  private byte @Nullable [] value(
      RecordReader reader, Versions version, byte[] stored, String keyspace, byte[] key) {
    if (!version.isPointer()) {
      return version.inline();
    }
    try {
      return reader.value(version.segment(), version.offset(), version.recordLength(), stored);
    } catch (CorruptionException e) {
      losses.add(
          new RepairReport.Loss(
              e.file(),
              e.offset(),
              e.offset() + version.recordLength(),
              "the value of this key: " + Losses.describe(e),
              keyspace,
              HexFormat.of().formatHex(key)));
      return null;
    }
  }
}
