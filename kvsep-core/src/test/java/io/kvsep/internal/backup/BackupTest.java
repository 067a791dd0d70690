package io.kvsep.internal.backup;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.CrashPromise.Found;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TrackedStore;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Backups and what is restored from them. */
final class BackupTest {
  private static final List<Step> STEPS =
      Arrays.stream(Step.values())
          .filter(step -> !step.reads() && step != Step.KILL && step != Step.REOPEN)
          .toList();

  private record Backup(byte[] bytes, long until) {
    boolean isComplete() {
      return bytes[12] == 1;
    }
  }

  private static StorageEngine open(Storage storage) {
    return Engines.open(storage, new ManualScheduler(3, 2));
  }

  private static Backup backup(StorageEngine engine, long since) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    long until = engine.copies().backup(output, since);
    return new Backup(output.toByteArray(), until);
  }

  private static long restore(StorageEngine engine, byte[] backup) {
    return engine.copies().restore(new ByteArrayInputStream(backup));
  }

  private static void put(StorageEngine engine, String key, byte[] value) {
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
  }

  private static byte @Nullable [] get(StorageEngine engine, String key) {
    return engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
  }

  /** A chain of backups of a random history, each restored on top of those before. */
  @Test
  void whatIsRestoredIsWhatWasThere() {
    int[] kinds = new int[2];
    Seeds.run(
        BackupTest.class,
        "whatIsRestoredIsWhatWasThere",
        1,
        Integer.getInteger("kvsep.seeds", 60),
        seed -> {
          Random random = new Random(seed);
          OptionSet options = OptionSet.values()[random.nextInt(OptionSet.values().length)];
          TrackedStore store = new TrackedStore(new CrashableStorage(), options);
          store.open();
          CrashableStorage target = new CrashableStorage();
          long since = 0;
          for (int i = 0; i < 6; i++) {
            for (int n = random.nextInt(25); n > 0; n--) {
              assertTrue(store.run(STEPS.get(random.nextInt(STEPS.size()))));
            }
            Backup backup = backup(store.engine(), since);
            if (since > 0) {
              kinds[backup.isComplete() ? 1 : 0]++;
            }
            Found expected = Found.in(store.engine());
            try (StorageEngine restored = open(target)) {
              assertEquals(backup.until(), restore(restored, backup.bytes()));
              check(expected, restored, store.nowMillis());
              if (random.nextBoolean()) {
                restored.compact();
                restored.reclaim();
              }
            }
            target = target.crashSyncedOnly();
            try (StorageEngine again = open(target)) {
              check(expected, again, store.nowMillis());
              assertEquals(List.of(), again.verify().problems());
              assertEquals(List.of(), again.verify().unknownFiles());
            }
            target = target.crashSyncedOnly();
            since = backup.until();
          }
          store.checkReads();
          assertTrue(store.close());
        });
    boolean both = kinds[0] > 20 && kinds[1] > 20;
    assertTrue(both || Long.getLong("kvsep.seed") != null, () -> Arrays.toString(kinds));
  }

  @Test
  void aBackupOfKeyspacesAloneIsFollowedByOneOfEverything() {
    CrashableStorage target = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine restored = open(target)) {
      int id = source.keyspaces().open("name");
      assertEquals(0, restore(restored, backup(source, 0).bytes()));
      assertEquals(List.of("name"), restored.keyspaces().names());
      source.writes().put(id, new byte[] {1}, new byte[] {2}, 0);
      Backup second = backup(source, 0);
      assertEquals(second.until(), restore(restored, second.bytes()));
      assertArrayEquals(
          new byte[] {2}, restored.reads().get(id, new byte[] {1}, StoreReads.LATEST));
    }
  }

  private static void check(Found expected, StorageEngine restored, long nowMillis) {
    Found found = Found.in(restored);
    assertEquals(expected.names(), found.names());
    assertEquals(expected.content().text(nowMillis), found.content().text(nowMillis));
  }

  @Test
  void aDeleteThatCompactionHasDroppedDoesNotComeBack() {
    CrashableStorage target = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine restored = open(target)) {
      put(source, "gone", new byte[] {1});
      put(source, "kept", new byte[] {2});
      Backup full = backup(source, 0);
      restore(restored, full.bytes());
      put(source, "new", new byte[] {3});
      Backup changes = backup(source, full.until());
      assertFalse(changes.isComplete());
      assertEquals(changes.until(), restore(restored, changes.bytes()));

      source.writes().delete(0, "gone".getBytes(UTF_8));
      assertFalse(backup(source, changes.until()).isComplete());
      source.compact();
      Backup last = backup(source, changes.until());
      assertTrue(last.isComplete());
      restore(restored, last.bytes());

      assertNull(get(restored, "gone"));
      assertArrayEquals(new byte[] {2}, get(restored, "kept"));
      assertArrayEquals(new byte[] {3}, get(restored, "new"));
      assertFalse(backup(source, last.until()).isComplete());
    }
  }

  @Test
  void theDroppedDeleteIsRememberedByTheNextOpening() {
    CrashableStorage storage = new CrashableStorage();
    long since;
    try (StorageEngine source = open(storage)) {
      put(source, "a", new byte[300]);
      source.flush();
      since = backup(source, 0).until();
      source.writes().deleteRange(0, new byte[] {'a'}, new byte[] {'b'});
      source.compact();
    }
    for (int i = 0; i < 2; i++) {
      storage = storage.crashSyncedOnly();
      try (StorageEngine source = open(storage)) {
        assertTrue(backup(source, since).isComplete());
      }
    }
  }

  @Test
  void onlyWhatHasChangedIsWritten() {
    try (StorageEngine source = open(new CrashableStorage())) {
      for (int i = 0; i < 100; i++) {
        put(source, "key" + i, new byte[2_000]);
      }
      Backup full = backup(source, 0);
      put(source, "key7", new byte[500]);
      Backup changes = backup(source, full.until());

      assertTrue(full.bytes().length > 200_000);
      assertTrue(changes.bytes().length < 1_000);
      assertTrue(backup(source, changes.until()).bytes().length < 100);
      assertThrows(IllegalArgumentException.class, () -> backup(source, changes.until() + 1));
      assertThrows(IllegalArgumentException.class, () -> backup(source, -1));
    }
  }

  /** Also where what has changed and what has not lie beside each other in a table. */
  @Test
  void onlyWhatHasChangedIsWrittenOfOneTable() {
    try (StorageEngine source = open(new CrashableStorage())) {
      for (int i = 0; i < 1_000; i++) {
        put(source, "key %04d".formatted(i), new byte[50]);
      }
      long since = backup(source, 0).until();
      put(source, "key 0300", new byte[50]);
      put(source, "key 0700", new byte[50]);
      source.compact();
      Backup changes = backup(source, since);
      assertFalse(changes.isComplete());
      assertTrue(changes.bytes().length < 10 * 50, () -> changes.bytes().length + " bytes");
    }
  }

  /** Every cut and, for one bit of each byte, every change: refused, and nothing is different. */
  @Test
  void aCutOrDamagedBackupIsRefusedBeforeAnythingIsChanged() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(storage)) {
      int space = source.keyspaces().open("space");
      put(source, "a", new byte[200]);
      source.writes().put(space, new byte[] {1}, new byte[] {2}, 1_000_000);
      restore(target, backup(source, 0).bytes());
      source.writes().deleteRange(0, new byte[] {'a'}, new byte[] {'b'});
      source.writes().delete(space, new byte[] {1});
      Random random = new Random(5);
      byte[] large = new byte[200_000];
      random.nextBytes(large);
      put(source, "c", large);
      Backup changes = backup(source, 2);
      Found before = Found.in(target);
      List<String> files = namesOf(storage);
      List<Integer> places = new ArrayList<>();
      for (int i = 0; i < changes.bytes().length; i++) {
        boolean nearABlock = i < 200 || i % (BackupFormat.BLOCK_BYTES + 8) < 80;
        if (nearABlock || i > changes.bytes().length - 60 || random.nextInt(2_000) == 0) {
          places.add(i);
        }
      }
      for (int place : places) {
        byte[] cut = Arrays.copyOf(changes.bytes(), place);
        assertThrows(CorruptionException.class, () -> restore(target, cut), "cut at " + place);
        byte[] changed = changes.bytes().clone();
        changed[place] ^= (byte) (1 << random.nextInt(8));
        assertThrows(CorruptionException.class, () -> restore(target, changed), "at " + place);
      }
      assertEquals(before.names(), Found.in(target).names());
      assertEquals(before.content().text(1_000), Found.in(target).content().text(1_000));
      assertEquals(files, namesOf(storage));

      assertEquals(changes.until(), restore(target, changes.bytes()));
      assertArrayEquals(large, get(target, "c"));
      assertNull(get(target, "a"));
    }
  }

  private static List<String> namesOf(CrashableStorage storage) {
    try {
      return storage.list();
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  @Test
  void blocksInAnotherOrderAreRefused() {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      put(source, "a", new byte[300_000]);
      byte[] bytes = backup(source, 0).bytes();
      int block = BackupFormat.BLOCK_BYTES + BackupFormat.BLOCK_HEADER_BYTES;
      int first = BackupFormat.HEADER_BYTES + block;
      byte[] swapped = bytes.clone();
      System.arraycopy(bytes, first, swapped, first + block, block);
      System.arraycopy(bytes, first + block, swapped, first, block);

      assertThrows(CorruptionException.class, () -> restore(target, swapped));
    }
  }

  @Test
  void aBackupThatDoesNotFitIsRefused() {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine other = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      put(source, "a", new byte[] {1});
      Backup first = backup(source, 0);
      put(source, "b", new byte[] {1});
      Backup second = backup(source, first.until());
      put(source, "c", new byte[] {1});
      Backup third = backup(source, second.until());
      put(other, "a", new byte[] {1});

      refused(target, second);
      refused(other, first);
      refused(other, second);
      restore(target, first.bytes());
      refused(target, first);
      refused(target, third);
      restore(target, second.bytes());
      refused(target, second);
      put(target, "mine", new byte[] {1});
      refused(target, third);
      assertArrayEquals(new byte[] {1}, get(target, "mine"));
      assertNull(get(target, "c"));
      assertThrows(
          IncompatibleFormatException.class,
          () -> restore(target, "KVSEPLOG and something else".getBytes(UTF_8)));
    }
  }

  /** A backup of changes and one of everything may go on from and reach the same numbers. */
  @Test
  void changesDoNotCompleteWhatStandsForEverything() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(storage)) {
      put(source, "gone", new byte[] {1});
      for (int i = 0; i < 12; i++) {
        put(source, "unchanged " + i, incompressible(i));
      }
      Backup full = backup(source, 0);
      restore(target, full.bytes());
      put(source, "changed", new byte[] {3});
      source.writes().delete(0, "gone".getBytes(UTF_8));
      Backup changes = backup(source, full.until());
      source.compact();
      Backup everything = backup(source, full.until());
      assertTrue(everything.isComplete() && !changes.isComplete());
      assertEquals(changes.until(), everything.until());

      failLogWrite(storage, 2);
      assertThrows(StorageException.class, () -> restore(target, everything.bytes()));
      storage.clearFaults();
      refused(target, changes);
      restore(target, everything.bytes());
      check(Found.in(source), target, 1_000);
    }
  }

  /** The numbers of a write that failed are used up, by nobody. */
  @Test
  void aRestoreThatMetAFullDiskIsFollowedByTheNextOnes() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(storage)) {
      put(source, "a", new byte[300]);
      Backup first = backup(source, 0);
      restore(target, first.bytes());
      put(source, "b", new byte[300]);
      Backup second = backup(source, first.until());
      put(source, "c", new byte[300]);
      Backup third = backup(source, second.until());

      failLogWrite(storage, 1);
      assertThrows(StorageException.class, () -> restore(target, second.bytes()));
      storage.clearFaults();
      assertEquals(second.until(), restore(target, second.bytes()));
      assertEquals(third.until(), restore(target, third.bytes()));
      check(Found.in(source), target, 1_000);
    }
  }

  private static void failLogWrite(CrashableStorage storage, int nth) {
    storage.failAt(
        nth,
        Fault.ENOSPC,
        false,
        (operation, name) ->
            operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT);
  }

  @Test
  void whatIsWrittenWhileTheStreamIsReadIsKept() {
    for (int followed = 0; followed < 2; followed++) {
      try (StorageEngine source = open(new CrashableStorage());
          StorageEngine target = open(new CrashableStorage())) {
        put(source, "a", new byte[] {1});
        Backup backup = backup(source, 0);
        if (followed > 0) {
          restore(target, backup.bytes());
          put(source, "b", new byte[] {1});
          backup = backup(source, backup.until());
        }
        InputStream slow = whileRead(backup, () -> put(target, "mine", new byte[] {7}));
        assertThrows(IncompatibleFormatException.class, () -> target.copies().restore(slow));
        assertArrayEquals(new byte[] {7}, get(target, "mine"));
      }
    }
  }

  /** Once the records are being written it is too late to refuse, but not for the next backup. */
  @Test
  void whatIsWrittenDuringARestoreHasTheNextOneRefused() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(storage)) {
      put(source, "a", new byte[300]);
      Backup first = backup(source, 0);
      put(source, "b", new byte[300]);
      Backup second = backup(source, first.until());
      AtomicBoolean written = new AtomicBoolean();
      storage.failAt(
          1,
          Fault.EIO,
          false,
          (operation, name) -> {
            // The last sync before the end is said, of the log.
            boolean syncs =
                operation == Operation.SYNC && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
            if (syncs && get(target, "a") != null && written.compareAndSet(false, true)) {
              put(target, "mine", new byte[] {7});
            }
            return false;
          });
      restore(target, first.bytes());
      assertTrue(written.get());
      refused(target, second);
    }
  }

  /** Runs something when all but the header has yet to be read. */
  private static InputStream whileRead(Backup backup, Runnable meanwhile) {
    return new ByteArrayInputStream(backup.bytes()) {
      private boolean done;

      @Override
      public synchronized int read(byte[] target, int offset, int length) {
        if (pos >= BackupFormat.HEADER_BYTES && !done) {
          done = true;
          meanwhile.run();
        }
        return super.read(target, offset, length);
      }
    };
  }

  private static byte[] incompressible(int seed) {
    byte[] value = new byte[200_000];
    new Random(seed).nextBytes(value);
    return value;
  }

  private static void refused(StorageEngine engine, Backup backup) {
    assertThrows(IncompatibleFormatException.class, () -> restore(engine, backup.bytes()));
  }

  @Test
  void nothingBehindABackupIsRead() throws IOException {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      put(source, "a", new byte[] {1});
      Backup first = backup(source, 0);
      put(source, "b", new byte[] {2});
      Backup second = backup(source, first.until());
      ByteArrayOutputStream both = new ByteArrayOutputStream();
      both.write(first.bytes());
      both.write(second.bytes());
      ByteArrayInputStream stream = new ByteArrayInputStream(both.toByteArray());

      assertEquals(first.until(), target.copies().restore(stream));
      assertNull(get(target, "b"));
      assertEquals(second.until(), target.copies().restore(stream));
      assertEquals(0, stream.available());
      assertArrayEquals(new byte[] {2}, get(target, "b"));
    }
  }

  /** A restore that stops at any operation takes the same backup again, and no other one. */
  @Test
  void aRestoreThatDiesCanBeTakenUpAgain() {
    try (StorageEngine source = open(new CrashableStorage())) {
      int dropped = source.keyspaces().open("dropped");
      source.writes().put(dropped, new byte[] {1}, new byte[] {2}, 0);
      for (int i = 0; i < 12; i++) {
        put(source, "key" + i, new byte[700]);
      }
      Backup full = backup(source, 0);
      source.keyspaces().drop(dropped);
      int added = source.keyspaces().open("added");
      source.writes().put(added, new byte[] {1}, new byte[] {3}, 0);
      source.writes().deleteRange(0, "key1".getBytes(UTF_8), "key5".getBytes(UTF_8));
      put(source, "key3", new byte[90]);
      Backup changes = backup(source, full.until());
      assertFalse(changes.isComplete());
      Found expected = Found.in(source);

      CrashableStorage empty = new CrashableStorage();
      open(empty).close();
      CrashableStorage filled = empty.crashSyncedOnly();
      try (StorageEngine target = open(filled)) {
        restore(target, full.bytes());
      }
      int stopped = dieEverywhere(filled, changes, full, expected);
      assertTrue(stopped > 15, "only " + stopped);
      try (StorageEngine target = open(filled.crashSyncedOnly())) {
        Found before = Found.in(target);
        assertTrue(dieEverywhere(empty, full, changes, before) > 10);
      }
    }
  }

  /** How often it was stopped. */
  private static int dieEverywhere(
      CrashableStorage at, Backup backup, Backup another, Found expected) {
    int stopped = 0;
    for (int n = 1; ; n++) {
      CrashableStorage dying = at.crashSyncedOnly();
      StorageEngine target = open(dying);
      dying.freezeAt(n);
      boolean died = false;
      try {
        restore(target, backup.bytes());
      } catch (KvException e) {
        died = true;
      }
      for (CrashableStorage left : dying.crashStates(6, n)) {
        try (StorageEngine again = open(left)) {
          if (died) {
            takeUp(again, backup, another);
          }
          check(expected, again, 1_000);
        }
      }
      try {
        target.close();
      } catch (KvException e) {
        // The storage refuses everything after its crash.
        assertEquals(0, target.memoryBytes());
      }
      if (!died) {
        return stopped;
      }
      stopped++;
    }
  }

  private static void takeUp(StorageEngine again, Backup backup, Backup another) {
    try {
      restore(again, backup.bytes());
    } catch (IncompatibleFormatException e) {
      // It was done already, but for saying so to the caller; or had not begun to change anything.
      assertTrue(String.valueOf(e.getMessage()).contains("backup"), e::toString);
      return;
    }
    if (another.until() < backup.until()) {
      refused(again, another);
    }
  }

  /** Else the next backup would pass over what then gets the same numbers. */
  @Test
  void whatIsBackedUpIsDurableInItsStore() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine source = open(storage);
    put(source, "a", new byte[] {1});
    Backup full = backup(source, 0);
    CrashableStorage left = storage.crashSyncedOnly();
    assertThrows(KvException.class, source::close);
    try (StorageEngine again = open(left)) {
      assertArrayEquals(new byte[] {1}, get(again, "a"));
      put(again, "b", new byte[] {2});
      assertEquals(full.until() + 1, backup(again, full.until()).until());
    }
  }

  @Test
  void aStreamThatFailsIsAnErrorOfTheStream() {
    try (StorageEngine source = open(new CrashableStorage())) {
      put(source, "a", new byte[300]);
      OutputStream full =
          new OutputStream() {
            @Override
            public void write(int b) throws IOException {
              throw new IOException("no space");
            }
          };

      assertThrows(StorageException.class, () -> source.copies().backup(full, 0));
      put(source, "b", new byte[3]);
      assertTrue(backup(source, 0).until() > 0);
    }
  }
}
