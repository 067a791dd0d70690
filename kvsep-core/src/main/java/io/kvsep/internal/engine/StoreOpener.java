package io.kvsep.internal.engine;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreNotFoundException;
import io.kvsep.internal.backup.FileCopy;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StorageLock;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableCache;
import io.kvsep.internal.sstable.UnknownTables;
import io.kvsep.internal.version.ObsoleteFiles;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.LogScanner;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The first half of opening: takes the lock, reads or creates the manifest, checks the log and
 * rewrites its end. {@link StorageEngine} has the second: it connects the parts and replays the
 * log. Before {@link #rewriteEnd} only LOCK is written, or a missing store created, so a store that
 * is refused is unchanged.
 */
final class StoreOpener {
  private final Storage storage;
  private final EngineConfig config;
  private final MemoryLedger ledger;

  StoreOpener(EngineConfig config, MemoryLedger ledger) {
    this.storage = config.storage();
    this.config = config;
    this.ledger = ledger;
  }

  /** Locks the directory if it is a store or may become one. */
  StorageLock lock() throws IOException {
    boolean exists = VersionSet.exists(storage);
    if (!exists) {
      refuseForeignFiles();
      if (config.mode().readOnly() || !config.mode().createIfMissing()) {
        throw new StoreNotFoundException(storage.location());
      }
    } else {
      // Before the lock file is created, so that a foreign directory stays unchanged.
      VersionSet.checkCurrent(storage, ledger);
    }
    if (exists && config.mode().exclusive()) {
      throw storeExists();
    }
    if (config.mode().readOnly() && !storage.exists(StoreFiles.LOCK)) {
      // There is no writer, because a writer creates the file.
      return () -> {};
    }
    StorageLock lock = storage.lock(StoreFiles.LOCK, config.mode().readOnly());
    boolean kept = false;
    try {
      if (config.mode().exclusive() && VersionSet.exists(storage)) {
        throw storeExists();
      }
      kept = true;
      return lock;
    } finally {
      if (!kept) {
        lock.close();
      }
    }
  }

  private StorageException storeExists() {
    return new StorageException(
        "there is a store in " + storage.location(),
        new FileAlreadyExistsException(StoreFiles.CURRENT));
  }

  VersionSet openVersions(ObsoleteFiles obsolete, TableCache cache) throws IOException {
    return VersionSet.exists(storage)
        ? VersionSet.open(storage, config.mode().readOnly(), ledger, obsolete, cache)
        : VersionSet.create(
            storage, StoreId.random(config.host().random()), ledger, obsolete, cache);
  }

  void checkFiles(VersionSet versions) throws IOException {
    Version version = versions.current();
    Set<String> names = new HashSet<>(storage.list());
    String unknown =
        LogScanner.unknownWithFrames(
            storage, names, versions.storeId(), versions.segmentIdLimitRead());
    if (unknown != null) {
      throw lostEdit(versions, "the edit that added " + unknown);
    }
    // Inclusive: if a segment ends while the memtable is empty, replay starts at the next one.
    LogPosition limit = new LogPosition(versions.segmentIdLimitRead(), 0);
    if (version.replayFrom().compareTo(limit) > 0) {
      throw lostEdit(versions, "the edit that added the segment from which the log is replayed");
    }
    for (SegmentState segment : version.segments().values()) {
      requireFile(names, StoreFiles.segment(segment.home()));
    }
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        requireFile(names, StoreFiles.table(table.meta().number()));
      }
    }
  }

  /**
   * Detects a lost edit of the manifest: the log refers to a keyspace or segment that the manifest
   * lacks, although their edits are durable before they are used, or a table has later sequence
   * numbers than log and manifest.
   */
  void checkLog(VersionSet versions, LogRecovery recovery) throws IOException {
    if (recovery.largestKeyspace() >= versions.current().nextKeyspace()) {
      throw lostEdit(versions, "the edit that made keyspace " + recovery.largestKeyspace());
    }
    long ended = recovery.endedSegment();
    if (ended != 0) {
      String name = StoreFiles.segment(ended);
      throw lostEdit(versions, "the edit that added the segment behind " + name);
    }
    Version version = versions.current();
    Set<Long> known = new HashSet<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile table : version.tables(level)) {
        known.add(table.meta().number());
      }
    }
    String ahead =
        UnknownTables.ahead(
            storage, storage.list(), known, versions.storeId(), ledger, recovery.lastSequence());
    if (ahead != null) {
      throw lostEdit(versions, "the edit that added " + ahead);
    }
  }

  private static CorruptionException lostEdit(VersionSet versions, String expected) {
    return new CorruptionException(
        versions.manifestRead(), versions.manifestBytes(), expected, "the end of the edits");
  }

  /**
   * Begins a new manifest, seals complete segments, cuts off a torn tail, writes every replayed
   * segment anew, and deletes files that are not in the manifest.
   */
  void rewriteEnd(VersionSet versions, LogRecovery recovery) throws IOException {
    versions.beginWriting();
    VersionEdit edit = new VersionEdit();
    boolean changes = recovery.isTorn();
    for (LogRecovery.SoundPart part : recovery.parts()) {
      SegmentState state = versions.current().segments().get(part.segment());
      if (part.complete() && state != null && !state.isSealed()) {
        edit.sealSegment(part.segment(), part.end(), part.lastSequence());
        changes = true;
      }
    }
    if (recovery.isTorn()) {
      cutOff(versions.current(), recovery, edit);
    }
    if (changes) {
      versions.apply(edit);
    }
    for (LogRecovery.SoundPart part : recovery.parts()) {
      boolean cut = recovery.isTorn() && part.segment() == recovery.end().segment();
      if (cut || part.end() > part.from()) {
        writeAnew(StoreFiles.segment(part.segment()), part.end());
      } else if (part.segment() == recovery.end().segment()) {
        makeDurable(StoreFiles.segment(part.segment()));
      }
    }
    for (String orphan : versions.orphans()) {
      try {
        storage.delete(orphan);
      } catch (IOException e) {
        // Harmless: its number is never reused, and the next open tries again.
      }
    }
  }

  private static void cutOff(Version version, LogRecovery recovery, VersionEdit edit) {
    LogPosition end = recovery.end();
    SegmentState torn = version.segments().get(end.segment());
    if (torn != null && torn.isSealed()) {
      edit.sealSegment(torn.id(), end.offset(), recovery.lastSequence());
    }
    for (SegmentState later : version.segments().tailMap(end.segment() + 1).values()) {
      if (later.isLog()) {
        edit.removeSegment(later.id());
      }
    }
  }

  /**
   * Replaces a segment by a copy of its first {@code length} bytes. After a failed sync the page
   * cache may have valid bytes that are on no device and that a later sync does not write; only
   * bytes written again are reliable.
   */
  private void writeAnew(String name, long length) throws IOException {
    String temporary = StoreFiles.temporary(name);
    if (storage.exists(temporary)) {
      storage.delete(temporary);
    }
    try {
      FileCopy.copy(storage, name, storage, temporary, length, ledger, () -> {});
      storage.rename(temporary, name);
    } catch (IOException | RuntimeException | Error e) {
      // On a full disk, a partial copy would take space that the next attempt needs.
      try {
        storage.delete(temporary);
      } catch (IOException | RuntimeException also) {
        e.addSuppressed(also);
      }
      throw e;
    }
    storage.syncDirectory();
  }

  /**
   * Syncs the end of a log without entries to replay. A process may have truncated a failed write
   * there and died before that was durable; after a power failure the write could reappear after
   * newer data.
   */
  private void makeDurable(String name) throws IOException {
    try (StorageFile file = storage.open(name, /* writable= */ true)) {
      file.sync();
    }
  }

  private static void requireFile(Set<String> names, String name) {
    if (!names.contains(name)) {
      throw new CorruptionException(name, 0, "a file the manifest names", "no such file");
    }
  }

  private void refuseForeignFiles() throws IOException {
    List<String> names = storage.list();
    for (String name : names) {
      boolean harmless = name.startsWith(".") || name.equals("lost+found");
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.OTHER && !harmless) {
        throw new IncompatibleFormatException(
            name, Reason.FOREIGN, storage.location() + " is not a store and not empty");
      }
    }
  }

  /** Opens the value-log files up to the ends of their valid parts. */
  void openSegments(
      VersionSet versions, LogRecovery recovery, SegmentDirectory segments, Epochs<?> epochs) {
    Collection<SegmentState> states = versions.current().segments().values();
    for (SegmentState state : states) {
      Segment segment = state.hasFile() ? openSegment(state, versions, recovery, epochs) : null;
      if (segment != null) {
        segments.add(segment);
      }
    }
    Map<Long, List<Long>> names = new HashMap<>();
    for (SegmentState state : states) {
      if (!state.hasFile()) {
        names.computeIfAbsent(state.home(), home -> new ArrayList<>()).add(state.id());
      }
    }
    names.forEach(
        (id, moved) -> {
          Segment home = segments.find(id);
          if (home != null) {
            segments.addHomes(moved, home);
          }
        });
  }

  /** Returns null for a segment after a torn position, which only a read-only store still lists. */
  private @Nullable Segment openSegment(
      SegmentState state, VersionSet versions, LogRecovery recovery, Epochs<?> epochs) {
    if (state.relocated()) {
      return Segment.openRelocated(
          config.storage(), versions.storeId(), state.id(), state.sealedLength(), epochs, ledger);
    }
    long end = recovery.soundEnd(state);
    boolean sealed = config.mode().readOnly() || state.isSealed();
    return end < 0
        ? null
        : Segment.open(
            config.storage(), versions.storeId(), state.id(), end, sealed, epochs, ledger);
  }
}
