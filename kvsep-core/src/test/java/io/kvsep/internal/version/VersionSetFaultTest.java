package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * Each operation of a run fails once, in each way. An edit that failed is not in the store after a
 * later edit succeeded, neither now nor after power loss; one that was applied always is; and after
 * a failed sync nothing is applied until the store is opened again.
 */
final class VersionSetFaultTest {
  private static final int STATES = 8;

  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = Mode.EXCLUDE, names = "EARLY_EOF")
  void oneFailureAnywhereNeitherLosesAnEditNorBringsAFailedOneBack(Fault fault) {
    Seeds.some(
        getClass(),
        24,
        1,
        random -> {
          long seed = random.nextLong();
          long operations = new Run(seed).go();
          for (long at = 1; at <= operations; at++) {
            for (boolean cuts : new boolean[] {true, false}) {
              Run run = new Run(seed);
              run.failsLate = fault == Fault.LATE_EIO;
              run.storage.failAt(at, fault, false);
              if (!cuts) {
                // So that what failed stays where it is.
                run.storage.failNext(Fault.EIO, operation -> operation == Operation.TRUNCATE);
              }
              run.go();
              run.checkAfterPowerLoss(random);
            }
          }
        });
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = Mode.EXCLUDE, names = "EARLY_EOF")
  void twoFailuresAnywhereDoNoWorse(Fault fault) {
    Seeds.some(
        getClass(),
        900,
        60,
        random -> {
          Run run = new Run(random.nextLong());
          run.failsLate = fault == Fault.LATE_EIO;
          run.storage.failAt(1 + random.nextInt(60), fault, false);
          run.storage.failAt(1 + random.nextInt(60), Fault.EIO, false);
          run.go();
          run.checkAfterPowerLoss(random);
        });
  }

  private static final class Run {
    private final Random random;
    private final MemoryLedger ledger = new MemoryLedger();
    private CrashableStorage storage = new CrashableStorage();
    private FileSetModel model = new FileSetModel();
    private final StoreId storeId;

    /** Whether an edit may fail with all its bytes in the manifest. */
    boolean failsLate;

    /** The first edit that failed so since one succeeded; the next open may find it. */
    private @Nullable VersionEdit refused;

    Run(long seed) {
      random = new Random(seed);
      storeId = StoreId.random(random);
    }

    long go() throws Exception {
      VersionSet set = opened(/* begin= */ true);
      for (int i = 0; i < 12; i++) {
        if (i % 5 == 4) {
          set.close();
          set = opened(/* begin= */ random.nextBoolean());
          settleOn(set);
        }
        VersionEdit edit = model.edit(random, set::newFileNumber, set::newSegmentId);
        try {
          set.apply(edit);
          model = model.after(edit);
          refused = null;
          assertEquals(List.of(), set.doubtfulFiles());
        } catch (StorageException e) {
          // The next edit is another one.
          refused = refused == null && failsLate ? edit : refused;
          checkFilesOf(edit, set);
        } catch (StoreFailedException e) {
          assertEquals(model.text(), FileSetModel.text(set.current()));
          set = afterFailedSync(set, e, edit);
        }
        assertEquals(model.text(), FileSetModel.text(set.current()));
      }
      set.close();
      // What was read after a failed sync is only now sure to stay.
      VersionSet last = opened(/* begin= */ true);
      settleOn(last);
      last.close();
      return storage.operationCount();
    }

    /** Files of a failed edit stay as long as a crash may bring it back, and no longer. */
    private void checkFilesOf(VersionEdit edit, VersionSet set) throws IOException {
      if (set.doubtfulFiles().containsAll(newFiles(edit))) {
        return;
      }
      // One that is still there could not be deleted, which was tried as the edit is gone.
      long seed = storage.operationCount();
      for (CrashableStorage after : storage.moment().crashStates(STATES, seed)) {
        VersionSet found = VersionSet.open(after, false, ledger, (t, s) -> {}, Readers.unbounded());
        List<String> files = found.filesInUse();
        edit.addedSegments().forEach(id -> assertFalse(files.contains(StoreFiles.segment(id))));
        edit.addedTables().stream()
            .map(table -> table.meta().number())
            .filter(number -> !model.tables().containsKey(number))
            .forEach(number -> assertFalse(files.contains(StoreFiles.table(number))));
        found.close();
      }
    }

    /** An edit that failed late may be in the manifest that was read. */
    private void settleOn(VersionSet set) {
      VersionEdit late = refused;
      refused = null;
      if (late != null && !model.text().equals(FileSetModel.text(set.current()))) {
        model = model.after(late);
        assertEquals(model.text(), FileSetModel.text(set.current()));
      }
    }

    void checkAfterPowerLoss(Random draw) throws IOException {
      for (CrashableStorage after : storage.crashStates(STATES, draw.nextLong())) {
        VersionSet set = VersionSet.open(after, false, ledger, (t, s) -> {}, Readers.unbounded());
        assertEquals(model.text(), FileSetModel.text(set.current()));
        set.close();
      }
      assertEquals(0, ledger.totalBytes());
    }

    /** A new process on the same machine, which sees what was written, synced or not. */
    private VersionSet afterFailedSync(VersionSet failed, StoreFailedException e, VersionEdit edit)
        throws IOException {
      VersionEdit next = new VersionEdit().lastSequence(Integer.MAX_VALUE);
      StoreFailedException again =
          assertThrows(StoreFailedException.class, () -> failed.apply(next));
      assertSame(e.getCause(), again.getCause());
      failed.close();
      storage = storage.crashKeepingAll();
      VersionSet set = opened(/* begin= */ random.nextBoolean());
      String found = FileSetModel.text(set.current());
      VersionEdit late = refused;
      refused = null;
      if (!found.equals(model.text())) {
        // The manifest that was to be replaced may end with an edit that failed late.
        FileSetModel withLate = late == null ? model : model.after(late);
        model = withLate.text().equals(found) ? withLate : model.after(edit);
        assertEquals(model.text(), found);
      }
      return set;
    }

    /** Once a failed attempt is over, the next one works. */
    private VersionSet opened(boolean begin) throws IOException {
      IOException failure = new IOException("not tried yet");
      for (int attempt = 0; attempt < 4; attempt++) {
        try {
          return openedOnce(begin);
        } catch (IOException | StorageException | StoreFailedException e) {
          failure = new IOException(e);
          assertEquals(List.of(), storage.openFiles());
        }
      }
      throw failure;
    }

    private VersionSet openedOnce(boolean begin) throws IOException {
      if (!VersionSet.exists(storage)) {
        return VersionSet.create(storage, storeId, ledger, (t, s) -> {}, Readers.unbounded());
      }
      VersionSet set = VersionSet.open(storage, false, ledger, (t, s) -> {}, Readers.unbounded());
      if (begin) {
        set.beginWriting();
      }
      return set;
    }

    private List<String> newFiles(VersionEdit edit) {
      List<String> names = new ArrayList<>();
      edit.addedSegments().forEach(id -> names.add(StoreFiles.segment(id)));
      edit.addedTables().stream()
          .map(table -> table.meta().number())
          .filter(number -> !model.tables().containsKey(number))
          .forEach(number -> names.add(StoreFiles.table(number)));
      return names;
    }
  }

  @Test
  void filesOfAFailedEditAreDeletedOnlyOnceItCannotComeBack() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    MemoryLedger ledger = new MemoryLedger();
    VersionSet set = create(storage, ledger);
    VersionEdit edit = withFiles(storage);

    storage.failNext(Fault.SHORT_WRITE);
    storage.failNext(Fault.EIO, operation -> operation == Operation.TRUNCATE);
    assertThrows(StorageException.class, () -> set.apply(edit));
    assertEquals(List.of("000009.sst", "000004.vlog"), set.doubtfulFiles());
    assertTrue(storage.exists("000009.sst") && storage.exists("000004.vlog"));
    assertEquals(List.of(), set.orphans());

    assertThrows(IllegalStateException.class, () -> set.apply(edit));
    set.apply(new VersionEdit().lastSequence(5));
    assertEquals(List.of(), set.doubtfulFiles());
    assertTrue(!storage.exists("000009.sst") && !storage.exists("000004.vlog"));
    assertThrows(IllegalStateException.class, () -> set.apply(edit));
    set.close();
  }

  @ParameterizedTest
  @EnumSource(
      value = Fault.class,
      names = {"ENOSPC", "SHORT_WRITE", "LATE_EIO"})
  void whatIsTakenBackIsInNoDoubtAndNeedsNoSpace(Fault fault) throws Exception {
    CrashableStorage storage = new CrashableStorage();
    MemoryLedger ledger = new MemoryLedger();
    VersionSet set = create(storage, ledger);
    set.apply(new VersionEdit().lastSequence(3));
    List<String> before = storage.list();
    VersionEdit edit = withFiles(storage);
    storage.failNext(fault);
    assertThrows(StorageException.class, () -> set.apply(edit));
    assertEquals(List.of(), set.doubtfulFiles());
    assertEquals(before, storage.list());
    assertThrows(IllegalStateException.class, () -> set.apply(edit));
    List<CorruptionException> problems = new ArrayList<>();
    set.check(problems::add);
    assertEquals(List.of(), problems);

    storage.capacityBytes(storage.usedBytes() + 40);
    set.discardFailedEdit();
    set.apply(new VersionEdit().lastSequence(5));
    assertEquals(before, storage.list());
    set.close();
    storage.capacityBytes(Long.MAX_VALUE);
    VersionSet reopened =
        VersionSet.open(
            storage.crashSyncedOnly(), false, ledger, (t, s) -> {}, Readers.unbounded());
    assertEquals(5, reopened.current().lastSequence());
    assertEquals(0, reopened.current().segments().size());
    reopened.close();
  }

  /** An edit that adds a table and a segment, whose files are there. */
  private static VersionEdit withFiles(CrashableStorage storage) throws IOException {
    storage.create("000009.sst").close();
    storage.create("000004.vlog").close();
    byte[] key = {1};
    return new VersionEdit().addSegment(4).addTable(0, FileSetModel.meta(9, key, key));
  }

  /** After a write that failed the next edit goes elsewhere, if it can. */
  @Test
  void aManifestThatCannotBeWrittenToIsReplaced() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    VersionSet set = create(storage, new MemoryLedger());
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> operation == Operation.WRITE && name.equals("MANIFEST-000001"));
    assertThrows(StorageException.class, () -> set.apply(new VersionEdit().lastSequence(3)));
    set.apply(new VersionEdit().lastSequence(5));
    assertFalse(storage.exists("MANIFEST-000001"));
    set.close();
  }

  @Test
  void afterAFailedRenameNothingIsAppendedToTheOldManifest() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    MemoryLedger ledger = new MemoryLedger();
    VersionSet set = create(storage, ledger);
    byte[] key = new byte[65_000];
    for (int i = 0; set.manifestBytes() <= 1 << 20; i++) {
      set.apply(new VersionEdit().addTable(0, FileSetModel.meta(1000 + i, key, key)));
    }
    storage.failNext(Fault.EIO, operation -> operation == Operation.RENAME);
    storage.clearTrace();

    assertThrows(StorageException.class, () -> set.apply(new VersionEdit().lastSequence(5)));
    set.apply(new VersionEdit().lastSequence(6));
    assertTrue(
        storage.trace().stream().noneMatch(line -> line.startsWith("write MANIFEST-000001")));
    assertEquals(2, storage.list().size());
    set.close();
  }

  @Test
  void aFullDiskDoesNotStopAnEditForTheSakeOfASnapshot() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    MemoryLedger ledger = new MemoryLedger();
    VersionSet set = create(storage, ledger);
    byte[] key = new byte[65_000];
    for (int i = 0; set.manifestBytes() <= 1 << 20; i++) {
      VersionEdit edit = new VersionEdit();
      set.apply(
          i % 2 == 0
              ? edit.addTable(0, FileSetModel.meta(1000, key, key))
              : edit.removeTable(0, 1000));
    }
    storage.capacityBytes(storage.usedBytes() + 40);

    set.apply(new VersionEdit().removeTable(0, 1000).lastSequence(5));
    assertTrue(set.manifestBytes() > 1 << 20);
    storage.capacityBytes(Long.MAX_VALUE);
    set.close();
    VersionSet reopened =
        VersionSet.open(
            storage.crashSyncedOnly(), false, ledger, (t, s) -> {}, Readers.unbounded());
    reopened.beginWriting();
    assertEquals(5, reopened.current().lastSequence());
    assertTrue(reopened.manifestBytes() < 1000);
    reopened.close();
  }

  private static VersionSet create(CrashableStorage storage, MemoryLedger ledger)
      throws IOException {
    return VersionSet.create(storage, new StoreId(1, 2), ledger, (t, s) -> {}, Readers.unbounded());
  }
}
