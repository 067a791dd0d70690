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
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
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
    long until = engine.backups().backup(output, since);
    return new Backup(output.toByteArray(), until);
  }

  private static long restore(StorageEngine engine, byte[] backup) {
    return engine.backups().restore(new ByteArrayInputStream(backup));
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
        assertThrows(IncompatibleFormatException.class, () -> target.backups().restore(slow));
        assertArrayEquals(new byte[] {7}, get(target, "mine"));
      }
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

      assertEquals(first.until(), target.backups().restore(stream));
      assertNull(get(target, "b"));
      assertEquals(second.until(), target.backups().restore(stream));
      assertEquals(0, stream.available());
      assertArrayEquals(new byte[] {2}, get(target, "b"));
    }
  }

  /** A restore that stops at any operation has restored all or nothing, also after a crash. */
  @Test
  void aRestoreIsDoneOrNot() {
    try (StorageEngine source = open(new CrashableStorage())) {
      int dropped = source.keyspaces().open("dropped");
      source.writes().put(dropped, new byte[] {1}, new byte[] {2}, 0);
      int renewed = source.keyspaces().open("renewed");
      source.writes().put(renewed, new byte[] {1}, new byte[] {2}, 0);
      for (int i = 0; i < 12; i++) {
        put(source, "key" + i, new byte[700]);
      }
      Backup full = backup(source, 0);
      Found first = Found.in(source);
      source.keyspaces().drop(dropped);
      source.keyspaces().drop(renewed);
      int again = source.keyspaces().open("renewed");
      source.writes().put(again, new byte[] {1}, new byte[] {3}, 0);
      source.writes().deleteRange(0, "key1".getBytes(UTF_8), "key5".getBytes(UTF_8));
      put(source, "key3", new byte[90]);
      Backup changes = backup(source, full.until());
      assertFalse(changes.isComplete());

      CrashableStorage empty = new CrashableStorage();
      open(empty).close();
      CrashableStorage filled = empty.crashSyncedOnly();
      Found nothing;
      try (StorageEngine target = open(filled)) {
        nothing = Found.in(target);
        restore(target, full.bytes());
      }
      assertTrue(stopEverywhere(empty, full, nothing, first) > 10);
      assertTrue(stopEverywhere(filled, changes, first, Found.in(source)) > 15);
    }
  }

  /** How often it was stopped. */
  private static int stopEverywhere(CrashableStorage at, Backup backup, Found before, Found after) {
    for (int n = 1; ; n++) {
      boolean died = !restoredUntil(n, at, backup, before, after);
      boolean failed = !restoredDespite(n, at, backup, before, after);
      if (!died && !failed) {
        return n - 1;
      }
    }
  }

  /** Ends the process at an operation; returns whether the restore was done before. */
  private static boolean restoredUntil(
      int operation, CrashableStorage at, Backup backup, Found before, Found after) {
    CrashableStorage dying = at.crashSyncedOnly();
    StorageEngine target = open(dying);
    dying.freezeAt(operation);
    boolean done = true;
    try {
      restore(target, backup.bytes());
    } catch (KvException e) {
      done = false;
    }
    for (CrashableStorage left : dying.crashStates(6, operation)) {
      try (StorageEngine again = open(left)) {
        requireOneOf(again, backup, done ? after : before, after);
      }
    }
    try {
      target.close();
    } catch (KvException e) {
      // The storage refuses everything after its crash.
      assertEquals(0, target.memoryBytes());
    }
    return done;
  }

  /** Fails one operation; returns whether that was too late for the restore. */
  private static boolean restoredDespite(
      int operation, CrashableStorage at, Backup backup, Found before, Found after) {
    CrashableStorage failing = at.crashSyncedOnly();
    StorageEngine target = open(failing);
    int[] seen = new int[1];
    failing.failAt(1, Fault.EIO, false, (any, name) -> ++seen[0] == operation);
    boolean done = true;
    try {
      restore(target, backup.bytes());
    } catch (KvException e) {
      done = false;
      check(before, target, 1_000);
    }
    boolean missed = seen[0] < operation;
    failing.clearFaults();
    try {
      target.close();
    } catch (KvException e) {
      // Of a sync that failed.
    }
    try (StorageEngine again = open(failing.crashKeepingAll())) {
      requireOneOf(again, backup, done ? after : before, after);
    }
    return missed;
  }

  private static void requireOneOf(StorageEngine engine, Backup backup, Found before, Found after) {
    if (!Found.in(engine).names().equals(after.names())
        || !Found.in(engine).content().text(1_000).equals(after.content().text(1_000))) {
      check(before, engine, 1_000);
      assertEquals(backup.until(), restore(engine, backup.bytes()));
    }
    check(after, engine, 1_000);
    assertEquals(List.of(), engine.verify().problems());
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

      assertThrows(StorageException.class, () -> source.backups().backup(full, 0));
      put(source, "b", new byte[3]);
      assertTrue(backup(source, 0).until() > 0);
    }
  }
}
