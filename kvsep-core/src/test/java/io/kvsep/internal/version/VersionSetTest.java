package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Readers;
import java.nio.ByteBuffer;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a version set accepts, refuses, records and leaves alone. */
final class VersionSetTest {
  private static final StoreId STORE = new StoreId(1, 2);
  private static final byte[] A = {'a'};
  private static final byte[] B = {'b'};
  private static final byte[] C = {'c'};

  private final MemoryLedger ledger = new MemoryLedger();
  private CrashableStorage storage = new CrashableStorage();

  @Test
  void creatingASetSyncsEverythingBeforeItIsNamed() throws Exception {
    create().close();

    assertEquals(
        List.of(
            "list",
            "create MANIFEST-000001",
            "write MANIFEST-000001",
            "sync MANIFEST-000001",
            "write MANIFEST-000001",
            "create CURRENT.tmp",
            "write CURRENT.tmp",
            "sync CURRENT.tmp",
            "sync-directory",
            "rename CURRENT.tmp CURRENT",
            "sync-directory"),
        words(storage.trace()));
  }

  @Test
  void anEditIsOneWriteOneSyncAndAMarkBehindIt() throws Exception {
    try (VersionSet set = create()) {
      storage.clearTrace();
      long syncs = set.syncs();
      long written = set.bytesWritten();
      long length = set.manifestBytes();
      set.apply(new VersionEdit().addSegment(set.newSegmentId()));

      assertEquals(
          List.of("write MANIFEST-000001", "sync MANIFEST-000001", "write MANIFEST-000001"),
          words(storage.trace()));
      assertEquals(syncs + 1, set.syncs());
      int mark = ManifestFormat.RECORD_HEADER_BYTES;
      assertEquals(set.manifestBytes() - length + mark, set.bytesWritten() - written);
      assertEquals(storage.contents("MANIFEST-000001").length, set.manifestBytes() + mark);
    }
  }

  @Test
  void anEditIsInForceWhenItsMarkCannotBeWritten() throws Exception {
    for (Fault fault : List.of(Fault.EIO, Fault.SHORT_WRITE)) {
      try (VersionSet set = create()) {
        storage.failAt(2, fault, /* sticky= */ false, operation -> operation == Operation.WRITE);
        set.apply(new VersionEdit().lastSequence(5));
        assertEquals(5, set.current().lastSequence());
        set.apply(new VersionEdit().lastSequence(6));
      }
      try (VersionSet set = open(true)) {
        assertEquals(6, set.current().lastSequence());
      }
      storage = new CrashableStorage();
    }
  }

  @Test
  void beginningToWriteBeginsAManifestAndDeletesTheOldOne() throws Exception {
    create().close();
    try (VersionSet set = open(false)) {
      assertEquals(List.of("CURRENT", "MANIFEST-000001"), storage.list());
      set.beginWriting();
      assertEquals(List.of("CURRENT", "MANIFEST-000002"), storage.list());
      set.beginWriting();
      assertEquals(List.of("CURRENT", "MANIFEST-000002"), storage.list());
    }
  }

  @Test
  void openingChangesNothing() throws Exception {
    create().close();
    storage.clearTrace();
    open(false).close();
    assertEquals(
        List.of("list", "open CURRENT", "open MANIFEST-000001", "list"),
        words(storage.trace()).stream().filter(line -> !line.startsWith("read")).toList());
  }

  @Test
  void sealingAgainOnlyShortens() throws Exception {
    try (VersionSet set = create()) {
      set.apply(new VersionEdit().addSegment(1).sealSegment(1, 100, 0));
      set.apply(new VersionEdit().sealSegment(1, 60, 0));
      VersionEdit longer = new VersionEdit().sealSegment(1, 61, 0);
      assertThrows(IllegalStateException.class, () -> set.apply(longer));
    }
    try (VersionSet set = open(true)) {
      SegmentState sealed = SegmentState.ofLog(1, SegmentState.GROWING).sealed(60, 0);
      assertEquals(sealed, set.current().segments().get(1L));
    }
  }

  @Test
  void editsThatDoNotFitChangeNothing() throws Exception {
    try (VersionSet set = create()) {
      set.apply(
          new VersionEdit()
              .addSegment(1)
              .addSegment(2)
              .sealSegment(1, 100, 0)
              .lastSequence(50)
              .replayFrom(new LogPosition(1, 40))
              .addTable(1, FileSetModel.meta(1, A, B, new SegmentUse(1, 10, 1))));
      String before = FileSetModel.text(set.current());
      long bytes = set.manifestBytes();
      List<VersionEdit> misfits =
          List.of(
              new VersionEdit().removeTable(1, 2),
              new VersionEdit().removeTable(2, 1),
              new VersionEdit().removeTable(1, 1).removeTable(1, 1),
              new VersionEdit().addTable(1, FileSetModel.meta(1, C, C)),
              new VersionEdit().addTable(2, FileSetModel.meta(1, A, B, new SegmentUse(1, 10, 1))),
              new VersionEdit().removeTable(1, 1).addTable(2, FileSetModel.meta(1, A, B)),
              new VersionEdit().addTable(1, FileSetModel.meta(3, B, C)),
              new VersionEdit().addTable(1, FileSetModel.meta(3, A, A)),
              new VersionEdit()
                  .addTable(2, FileSetModel.meta(3, A, B))
                  .addTable(2, FileSetModel.meta(4, B, C)),
              new VersionEdit().addTable(2, FileSetModel.meta(3, B, A)),
              new VersionEdit().addTable(2, FileSetModel.meta(3, new byte[0], A)),
              new VersionEdit().addTable(7, FileSetModel.meta(3, A, B)),
              new VersionEdit().addTable(-1, FileSetModel.meta(3, A, B)),
              new VersionEdit().addTable(2, FileSetModel.meta(3, A, B, new SegmentUse(9, 1, 1))),
              new VersionEdit().addSegment(1),
              new VersionEdit().addSegment(3).addSegment(3),
              new VersionEdit().addRelocated(3, 0),
              new VersionEdit().addRelocated(1, 50),
              new VersionEdit().addRelocated(3, 50).sealSegment(3, 40, 0),
              new VersionEdit().relocateSegment(1, 2),
              new VersionEdit().relocateSegment(1, 3),
              new VersionEdit().addRelocated(3, 50).relocateSegment(2, 3),
              new VersionEdit()
                  .addRelocated(3, 50)
                  .relocateSegment(1, 3)
                  .relocateSegment(3, 3)
                  .addRelocated(4, 50)
                  .relocateSegment(3, 4),
              new VersionEdit().addRelocated(3, 50).relocateSegment(1, 3).removeSegment(3),
              new VersionEdit().addSegment(0),
              new VersionEdit().sealSegment(1, 200, 0),
              new VersionEdit().sealSegment(2, -1, 0),
              new VersionEdit().sealSegment(3, 200, 0),
              new VersionEdit().removeSegment(1),
              new VersionEdit().removeSegment(3),
              new VersionEdit().removeSegment(2).removeSegment(2),
              new VersionEdit().lastSequence(49),
              new VersionEdit().replayFrom(new LogPosition(1, 39)),
              new VersionEdit().nextFileNumber(-1));
      for (VersionEdit misfit : misfits) {
        assertThrows(IllegalStateException.class, () -> set.apply(misfit), misfit::toString);
        assertEquals(before, FileSetModel.text(set.current()));
        assertEquals(bytes, set.manifestBytes());
      }
      set.apply(new VersionEdit().removeTable(1, 1).removeSegment(1));
      assertEquals(0, set.current().liveBytes());
    }
  }

  @Test
  void numbersInTheDirectoryAreNotGivenOutAgain() throws Exception {
    create().close();
    storage.create("000040.sst").close();
    storage.create("000050.sst.tmp").close();
    storage.create("000030.vlog").close();
    storage.create("9223372036854775807.sst").close();
    storage.create("000099.txt").close();
    try (VersionSet set = open(false)) {
      assertEquals(
          List.of("000030.vlog", "000040.sst", "000050.sst.tmp"), set.orphans().subList(0, 3));
      assertEquals(4, set.orphans().size());
      assertEquals(51, set.newFileNumber());
      assertEquals(31, set.newSegmentId());
    }
  }

  @Test
  void numbersOfAppliedEditsAreNotGivenOutAgain() throws Exception {
    try (VersionSet set = create()) {
      set.apply(new VersionEdit().addTable(0, FileSetModel.meta(70, A, B)).addSegment(80));
      set.apply(new VersionEdit().removeTable(0, 70).removeSegment(80));
    }
    try (VersionSet set = open(false)) {
      assertTrue(set.newFileNumber() > 70);
      assertEquals(81, set.newSegmentId());
    }
  }

  /** A caller that gets the error of an edit goes on as if it were not in the manifest. */
  @Test
  void whatFailsBehindADurableEditFailsEveryLaterOne() throws Exception {
    ObsoleteFiles failing =
        (tables, segments) -> {
          throw new OutOfMemoryError("as a test wants it");
        };
    try (VersionSet set = VersionSet.create(storage, STORE, ledger, failing, Readers.unbounded())) {
      set.apply(new VersionEdit().addSegment(1));
      assertThrows(StoreFailedException.class, () -> set.apply(new VersionEdit().removeSegment(1)));
      assertThrows(StoreFailedException.class, () -> set.apply(new VersionEdit().addSegment(2)));
    }
    try (VersionSet set = open(true)) {
      assertEquals(List.of(), set.current().liveness().segments().files().boxed().toList());
    }
  }

  /** Lists by number would take the memory of a store that counted on from there. */
  @Test
  void aFileOfAForeignNumberDoesNotMoveTheCounters() throws Exception {
    create().close();
    storage.create("3000000000.vlog").close();
    storage.create("20261126.sst").close();
    storage.create("000007.vlog").close();
    try (VersionSet set = open(false)) {
      assertEquals(8, set.newSegmentId());
      assertTrue(set.newFileNumber() < 100);
      set.beginWriting();
      assertEquals(List.of("000007.vlog", "20261126.sst", "3000000000.vlog"), set.orphans());
    }
  }

  @Test
  void whatACrashedCreationLeftIsNoStore() throws Exception {
    assertFalse(VersionSet.exists(storage));
    storage.create("notes.txt").close();
    storage.create("MANIFEST-000001").close();
    storage.create("CURRENT.tmp").close();

    assertFalse(VersionSet.exists(storage));
    assertThrows(NoSuchFileException.class, () -> open(false));
    create().close();
    assertTrue(VersionSet.exists(storage));
    assertThrows(FileAlreadyExistsException.class, this::create);
    assertEquals(List.of("CURRENT", "MANIFEST-000001", "notes.txt"), storage.list());
  }

  @Test
  void filesOfAStoreWithoutCurrentAreDamage() throws Exception {
    for (String name : List.of("000001.vlog", "000001.sst", "MANIFEST-000002")) {
      CrashableStorage damaged = new CrashableStorage();
      damaged.create("MANIFEST-000001").close();
      damaged.create(name).close();
      CorruptionException e =
          assertThrows(CorruptionException.class, () -> VersionSet.exists(damaged));
      assertEquals("CURRENT", e.file());
    }
  }

  @Test
  void aFirstManifestWithEditsIsThatOfAStoreWithoutCurrent() throws Exception {
    try (VersionSet set = create()) {
      assertEquals(CurrentFile.NEW_MANIFEST_BYTES, storage.contents("MANIFEST-000001").length);
      set.apply(new VersionEdit().addSegment(set.newSegmentId()));
    }
    storage.delete("CURRENT");
    assertThrows(CorruptionException.class, () -> VersionSet.exists(storage));
  }

  @Test
  void aTornEndIsCutOffForGood() throws Exception {
    try (VersionSet set = create()) {
      set.apply(new VersionEdit().lastSequence(5));
    }
    byte[] whole = storage.contents("MANIFEST-000001");
    storage.replace("MANIFEST-000001", ByteBuffer.allocate(whole.length + 9).put(whole).array());
    try (VersionSet set = open(true)) {
      assertEquals(5, set.current().lastSequence());
      assertEquals(whole.length - ManifestFormat.RECORD_HEADER_BYTES, set.manifestBytes());
    }
    try (VersionSet set = open(false)) {
      set.apply(new VersionEdit().lastSequence(6));
    }
    try (VersionSet set = open(true)) {
      assertEquals(6, set.current().lastSequence());
    }
  }

  @Test
  void noEditIsAppliedForReadingAloneOrWhenClosed() throws Exception {
    VersionSet set = create();
    set.close();
    assertThrows(StoreClosedException.class, () -> set.apply(new VersionEdit()));
    try (VersionSet reading = open(true)) {
      assertThrows(IllegalStateException.class, () -> reading.apply(new VersionEdit()));
    }
  }

  @Test
  void twentyThousandTablesOpenNone() throws Exception {
    int count = 20_000;
    try (VersionSet set = create()) {
      VersionEdit many = new VersionEdit().addSegment(1);
      for (int i = 1; i <= count; i++) {
        SegmentUse use = new SegmentUse(1, 1000, 10);
        byte[] smallest = FileSetModel.key(2 * i);
        byte[] largest = FileSetModel.key(2 * i + 1);
        many.addTable(6, FileSetModel.meta(i, smallest, largest, use));
      }
      set.apply(many);
    }
    storage.clearTrace();
    try (VersionSet set = open(false)) {
      assertEquals(count, set.current().tableCount());
      assertEquals(1000L * count, set.current().liveBytes(1));
      assertTrue(set.current().level(6).stream().noneMatch(TableFile::isOpen));
      assertTrue(storage.trace().stream().noneMatch(line -> line.contains(".sst")));
      for (int i = 1; i <= 200; i++) {
        set.apply(new VersionEdit().removeTable(6, i));
      }
      assertEquals(count - 200, set.current().tableCount());
    }
    assertEquals(0, ledger.totalBytes());
  }

  private VersionSet create() throws Exception {
    return VersionSet.create(storage, STORE, ledger, (tables, segments) -> {}, Readers.unbounded());
  }

  private VersionSet open(boolean readOnly) throws Exception {
    return VersionSet.open(
        storage, readOnly, ledger, (tables, segments) -> {}, Readers.unbounded());
  }

  /** Operation and name, without offsets and lengths. */
  private static List<String> words(List<String> trace) {
    return trace.stream().map(line -> line.replaceAll(" (\\d|@).*", "")).toList();
  }
}
