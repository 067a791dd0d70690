package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.format.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * What can be learnt from CURRENT and the manifests of a damaged store.
 *
 * <p>Where CURRENT is lost, the newest manifest that holds is taken for the one in force, since a
 * new one begins with what the old one said. A manifest whose end does not hold is believed only if
 * nothing contradicts it: the lost edit may have changed any file.
 *
 * @param sound whether the files in force are known; if not, tables and segments are empty
 * @param problem why not, or what is wrong with CURRENT all the same; null when nothing is
 * @param storeId null when neither file told it
 * @param tables those in force
 * @param segments those in force, by id
 * @param keyspaces names and ids, as far as they could be read
 * @param nextKeyspace ids from here on were never given to a keyspace that it knows of
 * @param replayFrom where the log begins that is in no table
 * @param syncedLog the log in front of it was synced
 * @param lastSequence the highest sequence number in tables
 */
public record SalvagedManifest(
    boolean sound,
    @Nullable CorruptionException problem,
    @Nullable StoreId storeId,
    List<TableMeta> tables,
    SortedMap<Long, SegmentState> segments,
    SortedMap<String, Integer> keyspaces,
    int nextKeyspace,
    LogPosition replayFrom,
    LogPosition syncedLog,
    long lastSequence) {

  /** Looks in the log for segments and keyspaces of which a manifest has lost the edit. */
  public interface EditSearch {
    /**
     * Whether there is one.
     *
     * @param files the names of those there are
     * @param idLimit the manifest knows nothing of segments with this id or a higher one
     */
    boolean find(
        SalvagedManifest manifest, StoreId storeId, Collection<String> files, long idLimit);
  }

  /** Reads them; changes nothing. */
  public static SalvagedManifest read(Storage storage, MemoryLedger ledger, EditSearch lostEdits)
      throws IOException {
    CorruptionException problem = null;
    List<FileHeader> candidates = new ArrayList<>();
    try {
      candidates.add(CurrentFile.read(storage, ledger));
    } catch (CorruptionException e) {
      problem = e;
    } catch (IncompatibleFormatException | java.nio.file.NoSuchFileException e) {
      problem =
          new CorruptionException(
              StoreFiles.CURRENT,
              0,
              "the file that names the manifest",
              String.valueOf(e.getMessage()));
    }
    boolean currentHolds = problem == null;
    if (!currentHolds) {
      candidates.addAll(manifests(storage, ledger));
    }
    StoreId storeId = null;
    SortedMap<String, Integer> names = Collections.emptySortedMap();
    for (FileHeader candidate : candidates) {
      storeId = storeId == null ? candidate.storeId() : storeId;
      try {
        ManifestReader.Contents contents = ManifestReader.read(storage, candidate, ledger);
        SalvagedManifest found = of(contents, candidate, problem);
        boolean doubtful = !currentHolds || !contents.isWhole();
        long idLimit = contents.replay().nextSegmentId();
        Set<String> files = new HashSet<>(storage.list());
        // With its mark a manifest may still be an older one: then there are later segments.
        boolean contradicted =
            (doubtful && found.misses(files))
                || lostEdits.find(found, candidate.storeId(), files, idLimit);
        if (!contradicted) {
          return found;
        }
        problem =
            new CorruptionException(
                StoreFiles.manifest(candidate.number()),
                contents.length(),
                "the edits that made the files there are",
                "the end of the edits");
        names = found.keyspaces();
      } catch (CorruptionException e) {
        problem = e;
        names = ManifestReader.keyspacesInFront(storage, candidate, ledger).byName();
      } catch (IncompatibleFormatException e) {
        problem =
            new CorruptionException(
                StoreFiles.manifest(candidate.number()),
                0,
                "a manifest of this store",
                String.valueOf(e.getMessage()));
      }
    }
    return new SalvagedManifest(
        false,
        problem,
        storeId,
        List.of(),
        Collections.emptySortedMap(),
        names,
        KeyspaceIds.NONE.next(),
        LogPosition.START,
        LogPosition.START,
        0);
  }

  private static List<FileHeader> manifests(Storage storage, MemoryLedger ledger)
      throws IOException {
    List<Long> numbers = new ArrayList<>();
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST) {
        numbers.add(StoreFiles.numberOf(name));
      }
    }
    numbers.sort(Collections.reverseOrder());
    List<FileHeader> headers = new ArrayList<>();
    for (long number : numbers) {
      FileHeader header = ManifestReader.header(storage, number, ledger);
      if (header != null) {
        headers.add(header);
      }
    }
    return headers;
  }

  private static SalvagedManifest of(
      ManifestReader.Contents contents, FileHeader header, @Nullable CorruptionException problem) {
    String manifest = StoreFiles.manifest(header.number());
    VersionEdit snapshot = contents.replay().snapshot();
    List<TableMeta> tables = new ArrayList<>();
    snapshot.addedTables().forEach(table -> tables.add(table.meta()));
    SortedMap<Long, SegmentState> segments = new TreeMap<>();
    KeyspaceIds keyspaces;
    try {
      SegmentList.change(segments, snapshot);
      SegmentList.requireHomes(segments.values(), segments);
      keyspaces = KeyspaceIds.NONE.with(snapshot);
    } catch (IllegalStateException e) {
      throw ManifestReader.unfitting(manifest, e);
    }
    LogPosition from = snapshot.replayFrom();
    return new SalvagedManifest(
        true,
        problem,
        header.storeId(),
        tables,
        segments,
        keyspaces.byName(),
        keyspaces.next(),
        from == null ? LogPosition.START : from,
        snapshot.syncedLog(),
        snapshot.lastSequence().orElse(0));
  }

  /** Whether a file is missing that it names. */
  private boolean misses(Set<String> files) {
    for (TableMeta table : tables) {
      if (!files.contains(StoreFiles.table(table.number()))) {
        return true;
      }
    }
    for (SegmentState segment : segments.values()) {
      if (!files.contains(StoreFiles.segment(segment.home()))) {
        return true;
      }
    }
    return false;
  }
}
