package io.kvsep.internal.version;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.FileHeader;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import java.io.IOException;
import java.nio.file.NoSuchFileException;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** See {@link VersionSet#check}. */
final class ManifestCheck {
  private final Storage storage;
  private final StoreId storeId;
  private final MemoryLedger ledger;
  private final Consumer<CorruptionException> problems;

  ManifestCheck(
      Storage storage,
      StoreId storeId,
      MemoryLedger ledger,
      Consumer<CorruptionException> problems) {
    this.storage = storage;
    this.storeId = storeId;
    this.ledger = ledger;
    this.problems = problems;
  }

  /**
   * No edit may be appended meanwhile.
   *
   * @param length of the manifest's sound part
   * @param marked whether a mark followed that
   */
  void run(String manifest, long length, boolean marked, Version inForce) throws IOException {
    FileHeader inCurrent = readCurrent();
    FileHeader header = new FileHeader(storeId, StoreFiles.numberOf(manifest));
    if (inCurrent != null && !inCurrent.equals(header)) {
      problems.accept(
          new CorruptionException(
              StoreFiles.CURRENT, 0, "the name of " + manifest, inCurrent.toString()));
    }
    ManifestReader.Contents contents;
    try {
      contents = ManifestReader.read(storage, header, ledger);
    } catch (CorruptionException e) {
      problems.accept(e);
      return;
    } catch (IncompatibleFormatException e) {
      problems.accept(foreign(manifest, e));
      return;
    }
    if (contents.length() < length) {
      problems.accept(
          new CorruptionException(
              manifest, contents.length(), "edits up to " + length, "one that does not hold"));
      return;
    }
    if (marked && !contents.isWhole()) {
      problems.accept(
          new CorruptionException(
              manifest, length, "a mark that all edits were synced", "none that holds"));
    }
    compare(manifest, facts(EditReplay.snapshotOf(inForce)), facts(contents.replay().snapshot()));
  }

  private void compare(String manifest, Map<String, Object> inForce, Map<String, Object> said) {
    Map<String, Object> names = new TreeMap<>(inForce);
    names.putAll(said);
    for (String name : names.keySet()) {
      Object expected = inForce.get(name);
      Object found = said.get(name);
      if (!Objects.equals(expected, found)) {
        problems.accept(
            new CorruptionException(
                manifest,
                FileHeader.BYTES,
                "edits that add up to " + name + " " + describe(expected),
                describe(found)));
      }
    }
  }

  private static String describe(@Nullable Object fact) {
    return fact == null ? "none" : fact.toString();
  }

  private static Map<String, Object> facts(VersionEdit snapshot) {
    Map<String, Object> facts = new HashMap<>();
    facts.put("last sequence", snapshot.lastSequence().orElse(0));
    LogPosition from = snapshot.replayFrom();
    facts.put("replay position", from == null ? LogPosition.START : from);
    snapshot
        .addedTables()
        .forEach(table -> facts.put(StoreFiles.table(table.meta().number()), table));
    snapshot.addedSegments().forEach(id -> facts.put("segment " + id, "of the log"));
    snapshot.sealedSegments().forEach(file -> facts.put("seal of " + file.id(), file));
    snapshot.addedRelocated().forEach(file -> facts.put("segment " + file.id(), file));
    snapshot.relocations().forEach(moved -> facts.put("home of " + moved.segment(), moved));
    facts.put("dropped deletes", snapshot.droppedDelete());
    facts.put("changes that are not in the log", snapshot.lostChange().orElse(0));
    facts.put("synced log", snapshot.syncedLog());
    facts.put("restored backup", String.valueOf(snapshot.restored()));
    snapshot.addedKeyspaces().forEach(added -> facts.put("keyspace " + added.id(), added));
    return facts;
  }

  private @Nullable FileHeader readCurrent() throws IOException {
    try {
      return CurrentFile.read(storage, ledger);
    } catch (CorruptionException e) {
      problems.accept(e);
    } catch (IncompatibleFormatException e) {
      problems.accept(foreign(StoreFiles.CURRENT, e));
    } catch (NoSuchFileException e) {
      problems.accept(
          new CorruptionException(
              StoreFiles.CURRENT, 0, "the file that names the manifest", "no such file"));
    }
    return null;
  }

  private static CorruptionException foreign(String file, IncompatibleFormatException e) {
    return new CorruptionException(file, 0, "a file of this store", String.valueOf(e.getMessage()));
  }
}
