package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
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
 * What CURRENT and the manifests of a damaged store reveal.
 *
 * <p>If CURRENT is lost, names a missing manifest or is of another store, the newest sound manifest
 * counts as current: a new manifest begins with the state of the old one. The store that most files
 * state outweighs a single file, which may be there by mistake. A manifest with a damaged end is
 * trusted only if nothing contradicts it: the lost edit may have changed any file.
 *
 * @param sound whether the current files are known; if not, tables and segments are empty
 * @param problems why not; also defects of CURRENT and manifests of other stores
 * @param storeId null if unknown
 * @param keyspaces names and ids, as far as they could be read
 * @param nextKeyspace above every known keyspace id
 * @param replayFrom start of the part of the log that is in no table
 * @param lastSequence highest in tables
 */
public record SalvagedManifest(
    boolean sound,
    List<CorruptionException> problems,
    @Nullable StoreId storeId,
    List<TableMeta> tables,
    SortedMap<Long, SegmentState> segments,
    SortedMap<String, Integer> keyspaces,
    int nextKeyspace,
    LogPosition replayFrom,
    LogPosition syncedLog,
    long lastSequence) {

  /** Searches the log for segments and keyspaces whose edit a manifest has lost. */
  public interface EditSearch {
    /**
     * Returns whether there is one.
     *
     * @param idLimit above every segment id in the manifest
     */
    boolean find(
        SalvagedManifest manifest, StoreId storeId, Collection<String> files, long idLimit);
  }

  /** What the headers of tables and log files state. */
  public interface Owners {
    /** Whether none states this store, and more than could be chance state others. */
    boolean isStranger(StoreId storeId);

    /**
     * The store that most of them state; null without a statement.
     *
     * @param claims of other files, which count equally; the first ones win a tie
     */
    @Nullable StoreId most(List<StoreId> claims);
  }

  /** Changes nothing. */
  public static SalvagedManifest read(
      Storage storage, MemoryLedger ledger, EditSearch lostEdits, Owners owners)
      throws IOException {
    Candidates all = Candidates.of(storage, ledger, owners);
    List<CorruptionException> odd = all.odd;
    CorruptionException problem = all.problem;
    SortedMap<String, Integer> names = Collections.emptySortedMap();
    for (FileHeader candidate : all.headers) {
      try {
        ManifestReader.Contents contents = ManifestReader.read(storage, candidate, ledger);
        SalvagedManifest found = of(contents, candidate, problems(odd, problem));
        boolean doubtful = !all.named || !contents.isWhole();
        long idLimit = contents.replay().nextSegmentId();
        Set<String> files = new HashSet<>(storage.list());
        // Even a manifest with a mark may be an old one; later segments then exist.
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
        requireNotLater(e);
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
        problems(odd, problem),
        owners.most(all.claims),
        List.of(),
        Collections.emptySortedMap(),
        names,
        KeyspaceIds.NONE.next(),
        LogPosition.START,
        LogPosition.START,
        0);
  }

  /** A store that a later release has written is not damaged. */
  private static void requireNotLater(Exception e) {
    if (e instanceof IncompatibleFormatException other && other.reason() == Reason.TOO_NEW) {
      throw other;
    }
  }

  private static List<CorruptionException> problems(
      List<CorruptionException> odd, @Nullable CorruptionException last) {
    List<CorruptionException> all = new ArrayList<>(odd);
    if (last != null) {
      all.add(last);
    }
    return all;
  }

  /** Possible current manifests, the likeliest first. */
  private static final class Candidates {
    final List<FileHeader> headers = new ArrayList<>();

    /** Stores that CURRENT and manifests state, in this order. */
    final List<StoreId> claims = new ArrayList<>();

    /** Files of another store, or that name a missing one. */
    final List<CorruptionException> odd = new ArrayList<>();

    @Nullable CorruptionException problem;

    /** Whether CURRENT names the only candidate. */
    boolean named;

    static Candidates of(Storage storage, MemoryLedger ledger, Owners owners) throws IOException {
      Candidates found = new Candidates();
      try {
        FileHeader current = CurrentFile.read(storage, ledger);
        found.claims.add(current.storeId());
        CorruptionException wrong = whatIsWrong(current, storage, ledger, owners);
        if (wrong == null) {
          found.headers.add(current);
          if (ManifestReader.header(storage, current.number(), ledger) != null) {
            found.claims.add(current.storeId());
          }
          found.named = true;
          return found;
        }
        found.odd.add(wrong);
      } catch (CorruptionException e) {
        found.problem = e;
      } catch (IncompatibleFormatException | NoSuchFileException e) {
        requireNotLater(e);
        found.problem = ofCurrent("the file that names the manifest", e.getMessage());
      }
      for (FileHeader header : manifests(storage, ledger)) {
        found.claims.add(header.storeId());
        if (owners.isStranger(header.storeId())) {
          found.odd.add(
              new CorruptionException(
                  StoreFiles.manifest(header.number()),
                  0,
                  "a manifest of the store that the other files are of",
                  "one of store " + header.storeId()));
        } else {
          found.headers.add(header);
        }
      }
      return found;
    }

    /** Why an undamaged CURRENT is not trusted; null if it is. */
    private static @Nullable CorruptionException whatIsWrong(
        FileHeader current, Storage storage, MemoryLedger ledger, Owners owners)
        throws IOException {
      String manifest = StoreFiles.manifest(current.number());
      if (owners.isStranger(current.storeId())) {
        return ofCurrent("the store that the other files are of", "store " + current.storeId());
      }
      if (!storage.exists(manifest)) {
        return ofCurrent("a manifest that is there", manifest);
      }
      FileHeader header = ManifestReader.header(storage, current.number(), ledger);
      return header == null || header.storeId().equals(current.storeId())
          ? null
          : ofCurrent("a manifest of the same store", manifest + " of store " + header.storeId());
    }

    private static CorruptionException ofCurrent(String expected, @Nullable String found) {
      return new CorruptionException(StoreFiles.CURRENT, 0, expected, String.valueOf(found));
    }
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
      ManifestReader.Contents contents, FileHeader header, List<CorruptionException> problems) {
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
        problems,
        header.storeId(),
        tables,
        segments,
        keyspaces.byName(),
        keyspaces.next(),
        from == null ? LogPosition.START : from,
        snapshot.syncedLog(),
        snapshot.lastSequence().orElse(0));
  }

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
