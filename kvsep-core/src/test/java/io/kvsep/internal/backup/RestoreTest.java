package io.kvsep.internal.backup;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.WriteBuffer;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Restores beside others, and those that end in the middle. */
final class RestoreTest {
  private record Backup(byte[] bytes, long until) {}

  private static StorageEngine open(Storage storage) {
    return Engines.open(storage, new ManualScheduler(3, 2));
  }

  /** All others have the same id. */
  private static EngineConfig configOfAnother() {
    EngineConfig config = Engines.config(new CrashableStorage(), new ManualScheduler(3, 2));
    return ConfigDraft.of(config).random(new Random(2)).build();
  }

  private static Backup backup(StorageEngine engine, long since) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    long until = engine.copies().backup(output, since);
    return new Backup(output.toByteArray(), until);
  }

  private static long restore(StorageEngine engine, Backup backup) {
    return engine.copies().restore(new ByteArrayInputStream(backup.bytes()));
  }

  private static void put(StorageEngine engine, String key, byte[] value) {
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
  }

  private static byte @Nullable [] get(StorageEngine engine, String key) {
    return engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
  }

  /** All is done by then, and whoever tried again would be refused. */
  @Test
  void aTemporaryFileThatCannotBeDeletedIsNoFailure() throws Exception {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(storage)) {
      put(source, "a", new byte[] {1});
      Backup backup = backup(source, 0);
      storage.failAt(
          1,
          Fault.EIO,
          true,
          (operation, name) ->
              operation == Operation.DELETE
                  && StoreFiles.kindOf(name) == StoreFiles.Kind.TEMPORARY);

      assertEquals(backup.until(), restore(target, backup));
      assertArrayEquals(new byte[] {1}, get(target, "a"));
      storage.clearFaults();
    }
    CrashableStorage left = storage.crashKeepingAll();
    assertTrue(hasTemporary(left));
    open(left).close();
    assertTrue(!hasTemporary(left.crashKeepingAll()));
  }

  /** Two calls with the same backup: one of them restores it, and what it says stays true. */
  @Test
  void aSecondRestoreWaitsForTheFirst() throws Exception {
    CrashableStorage disk = new CrashableStorage();
    LogSyncs syncs = new LogSyncs(disk);
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(syncs)) {
      // Two writes, the first of which would take both away again.
      putHalves(source);
      Backup backup = backup(source, 0);
      FutureTask<Long> second = new FutureTask<>(() -> restore(target, backup));
      Thread other = new Thread(second);
      syncs.before(
          () -> {
            if (get(target, "z") != null && other.getState() == Thread.State.NEW) {
              failLogWrite(disk, () -> get(target, "z") == null);
              other.start();
              Parked.await(List.of(other));
            }
          });

      assertEquals(backup.until(), restore(target, backup));
      ExecutionException refused = assertThrows(ExecutionException.class, second::get);
      assertInstanceOf(IncompatibleFormatException.class, refused.getCause());
      assertArrayEquals(new byte[1 << 20], get(target, "a"));
      assertArrayEquals(new byte[] {1}, get(target, "z"));
    }
  }

  /** Not even where it is the same thread. */
  @Test
  void aRestoreDoesNotWaitForTheStreamOfAnother() {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      put(source, "a", new byte[] {1});
      Backup backup = backup(source, 0);
      InputStream around =
          new ByteArrayInputStream(backup.bytes()) {
            @Override
            public synchronized int read(byte[] bytes, int offset, int length) {
              if (pos == BackupFormat.HEADER_BYTES) {
                assertEquals(backup.until(), restore(target, backup));
              }
              return super.read(bytes, offset, length);
            }
          };
      assertThrows(IncompatibleFormatException.class, () -> target.copies().restore(around));
      assertArrayEquals(new byte[] {1}, get(target, "a"));
    }
  }

  @Test
  void halfARestoreIsNotTakenUpByAnotherBackupOfEverything() {
    CrashableStorage disk = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine other = StorageEngine.open(configOfAnother());
        StorageEngine target = open(disk)) {
      put(other, "a", new byte[] {3});
      put(other, "b", new byte[] {3});
      putHalves(source);
      Backup backup = backup(source, 0);
      put(source, "later", new byte[] {1});
      Backup later = backup(source, 0);
      assertEquals(backup.until(), backup(other, 0).until());

      restoreHalf(target, disk, backup);
      refused(target, backup(other, 0));
      refused(target, later);
      assertEquals(backup.until(), restore(target, backup));
      assertArrayEquals(new byte[] {1}, get(target, "z"));
      assertNull(get(target, "b"));
    }
  }

  @Test
  void halfOfChangesIsCompletedByEverythingUpToTheSameNumber() {
    CrashableStorage disk = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(disk)) {
      put(source, "gone", new byte[] {1});
      Backup first = backup(source, 0);
      restore(target, first);
      source.writes().delete(0, "gone".getBytes(UTF_8));
      putHalves(source);
      Backup changes = backup(source, first.until());
      Backup everything = backup(source, 0);
      put(source, "later", new byte[] {1});

      restoreHalf(target, disk, changes);
      refused(target, first);
      refused(target, backup(source, 0));
      assertEquals(changes.until(), restore(target, everything));
      assertNull(get(target, "gone"));
      assertArrayEquals(new byte[] {1}, get(target, "z"));
      restore(target, backup(source, changes.until()));
      assertArrayEquals(new byte[] {1}, get(target, "later"));
    }
  }

  /** By whichever way others write between a restore that failed and the next try. */
  private enum Write {
    PUT,
    TRY_WRITE,
    INCREMENT,
    DROP,
    KEYSPACE,
    LOAD;

    void into(StorageEngine target) {
      switch (this) {
        case PUT -> put(target, "mine", new byte[] {7});
        case TRY_WRITE -> {
          WriteBuffer batch = new WriteBuffer();
          batch.put(0, "mine".getBytes(UTF_8), new byte[] {7}, 0);
          assertFalse(target.writes().tryWrite(batch));
          target.writes().write(batch, null);
        }
        case INCREMENT -> target.writes().increment(0, "mine".getBytes(UTF_8), 7);
        case DROP -> target.keyspaces().drop(target.keyspaces().open("mine"));
        case KEYSPACE -> target.keyspaces().open("mine");
        case LOAD -> {
          TestLoad.Item mine = new TestLoad.Item("mine".getBytes(UTF_8), new byte[] {7});
          assertEquals(1, target.loads().load(0, new TestLoad(List.of(mine))));
        }
      }
    }

    void check(StorageEngine target) {
      assertEquals(this == DROP || this == KEYSPACE, get(target, "mine") == null);
      List<String> keyspaces = this == KEYSPACE ? List.of("mine") : List.of();
      assertEquals(keyspaces, target.keyspaces().names());
    }
  }

  /** A backup of everything, or of changes and those before and behind them. */
  private record Chain(@Nullable Backup before, Backup halved, Backup next) {
    static Chain of(boolean complete) {
      try (StorageEngine source = open(new CrashableStorage())) {
        put(source, "first", new byte[] {1});
        Backup before = complete ? null : backup(source, 0);
        putHalves(source);
        Backup halved = backup(source, before == null ? 0 : before.until());
        put(source, "next", new byte[] {1});
        return new Chain(before, halved, backup(source, halved.until()));
      }
    }

    void begin(StorageEngine target) {
      if (before != null) {
        restore(target, before);
      }
    }

    void restoreHalf(StorageEngine target, CrashableStorage disk) {
      begin(target);
      RestoreTest.restoreHalf(target, disk, halved);
    }
  }

  @ParameterizedTest
  @EnumSource
  void whatIsWrittenIntoHalfARestoreIsKeptAndHasEachBackupRefused(Write write) {
    for (boolean complete : new boolean[] {true, false}) {
      Chain chain = Chain.of(complete);
      CrashableStorage disk = new CrashableStorage();
      try (StorageEngine target = open(disk)) {
        chain.restoreHalf(target, disk);
        write.into(target);
        assertTrue(refused(target, chain.halved()).contains("and changed"));
        refused(target, chain.next());
        write.check(target);
        target.sync();
      }
      try (StorageEngine target = open(disk.crashSyncedOnly())) {
        refused(target, chain.halved());
        refused(target, chain.next());
        write.check(target);
      }
    }
  }

  /** The next opening knows of the half, and in whichever state a crash leaves the store. */
  @Test
  void whatIsWrittenAfterAnotherOpeningIsKeptToo() {
    for (boolean complete : new boolean[] {true, false}) {
      Chain chain = Chain.of(complete);
      CrashableStorage disk = new CrashableStorage();
      try (StorageEngine target = open(disk)) {
        chain.restoreHalf(target, disk);
      }
      CrashableStorage again = disk.crashSyncedOnly();
      StorageEngine target = open(again);
      put(target, "mine", new byte[] {7});
      int kept = 0;
      for (CrashableStorage left : again.crashStates(40)) {
        try (StorageEngine last = open(left)) {
          kept += get(last, "mine") == null ? 0 : 1;
          refused(last, chain.halved());
        }
      }
      assertTrue(kept > 0);
      assertThrows(KvException.class, target::close);
    }
  }

  /** Nothing is noted but for a write: neither by closing, nor for one that is not done. */
  @Test
  void halfARestoreIntoWhichNobodyWroteIsTakenUp() {
    for (boolean complete : new boolean[] {true, false}) {
      Chain chain = Chain.of(complete);
      CrashableStorage disk = new CrashableStorage();
      try (StorageEngine target = open(disk)) {
        chain.restoreHalf(target, disk);
        byte[] key = "first".getBytes(UTF_8);
        assertFalse(target.writes().compareAndSet(0, key, new byte[] {2}, new byte[] {3}));
        target.compact();
        disk.failNext(Fault.ENOSPC, Operation::changes);
        assertThrows(StorageException.class, () -> put(target, "mine", new byte[] {7}));
        disk.clearFaults();
      }
      try (StorageEngine target = open(disk.crashSyncedOnly())) {
        assertEquals(chain.halved().until(), restore(target, chain.halved()));
        assertEquals(chain.next().until(), restore(target, chain.next()));
        assertArrayEquals(new byte[] {1}, get(target, "next"));
        put(target, "mine", new byte[] {7});
        assertTrue(refused(target, chain.next()).contains("and changed"));
      }
    }
  }

  /** Whether it says that one is under way nobody knows; so that has to be settled first. */
  @Test
  void whatIsWrittenBehindARestoreThatCouldNotBeginIsNoticed() {
    Chain chain = Chain.of(/* complete= */ false);
    CrashableStorage disk = new CrashableStorage();
    StorageEngine target = open(disk);
    chain.begin(target);
    failManifestWrite(disk, Fault.LATE_EIO);
    assertThrows(StorageException.class, () -> restore(target, chain.halved()));
    // Into the segment that there is: to make one would settle it as well.
    put(target, "mine", new byte[] {7});
    try (StorageEngine again = open(disk.crashKeepingAll())) {
      assertTrue(refused(again, chain.halved()).contains("and changed"));
      assertArrayEquals(new byte[] {7}, get(again, "mine"));
    }
    assertThrows(KvException.class, target::close);
  }

  /** A restore that is at work does not know how it will end. */
  @Test
  void whatIsWrittenDuringARestoreThatFailsIsKept() {
    Chain chain = Chain.of(/* complete= */ true);
    CrashableStorage disk = new CrashableStorage();
    LogSyncs syncs = new LogSyncs(disk);
    try (StorageEngine target = open(syncs)) {
      syncs.before(
          () -> {
            if (get(target, "z") != null && get(target, "mine") == null) {
              put(target, "mine", new byte[] {7});
              failManifestWrite(disk, Fault.ENOSPC);
            }
          });
      assertThrows(StorageException.class, () -> restore(target, chain.halved()));
      assertTrue(refused(target, chain.halved()).contains("and changed"));
      assertArrayEquals(new byte[] {7}, get(target, "mine"));
    }
  }

  /** Nobody wrote an entry, but the next backup, which does not have it, would drop it. */
  @Test
  void aKeyspaceMadeBetweenTwoBackupsIsKept() {
    Chain chain = Chain.of(/* complete= */ false);
    try (StorageEngine target = open(new CrashableStorage())) {
      chain.begin(target);
      target.keyspaces().open("mine");
      assertTrue(refused(target, chain.halved()).contains("and changed"));
      assertEquals(List.of("mine"), target.keyspaces().names());
    }
  }

  @Test
  void aKeyspaceMadeInARestoredStoreWithoutEntriesIsKept() {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      source.keyspaces().open("theirs");
      restore(target, backup(source, 0));
      restore(target, backup(source, 0));
      target.keyspaces().open("mine");
      refused(target, backup(source, 0));
      assertEquals(List.of("mine", "theirs"), target.keyspaces().names());
    }
  }

  /** The restore is done, and what it has is there; but it is not alone there. */
  @Test
  void aKeyspaceMadeDuringARestoreIsKept() {
    Chain chain = Chain.of(/* complete= */ false);
    LogSyncs syncs = new LogSyncs(new CrashableStorage());
    try (StorageEngine target = open(syncs)) {
      chain.begin(target);
      syncs.before(() -> target.keyspaces().open("mine"));
      restore(target, chain.halved());
      assertArrayEquals(new byte[] {1}, get(target, "z"));
      assertTrue(refused(target, chain.next()).contains("and changed"));
      assertEquals(List.of("mine"), target.keyspaces().names());
    }
  }

  /** It has used a number up, of which the seal of the segment tells, and nothing else does. */
  @Test
  void aWriteThatFailedDoesNotEndAChain() throws Exception {
    CrashableStorage disk = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage())) {
      // Long enough that the segment stays.
      put(source, "a", new byte[1 << 20]);
      Backup first = backup(source, 0);
      put(source, "b", new byte[] {2});
      Backup second = backup(source, first.until());
      try (StorageEngine target = open(disk)) {
        restore(target, first);
        disk.failAt(
            1,
            Fault.SHORT_WRITE,
            true,
            (operation, name) ->
                StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
                    && (operation == Operation.WRITE || operation == Operation.TRUNCATE));
        assertThrows(StorageException.class, () -> put(target, "mine", new byte[1 << 10]));
        disk.clearFaults();
      }
      for (int i = 0; i < 2; i++) {
        disk = disk.crashKeepingAll();
        open(disk).close();
      }
      disk = disk.crashKeepingAll();
      try (StorageEngine target = open(disk)) {
        assertEquals(second.until(), restore(target, second));
        assertArrayEquals(new byte[] {2}, get(target, "b"));
        assertNull(get(target, "mine"));
      }
    }
  }

  /** What a restore takes two writes for. */
  private static void putHalves(StorageEngine source) {
    put(source, "a", new byte[1 << 20]);
    put(source, "z", new byte[] {1});
  }

  /** Restores the first of them, and fails at the second. */
  private static void restoreHalf(StorageEngine target, CrashableStorage disk, Backup backup) {
    failLogWrite(disk, () -> get(target, "a") != null);
    assertThrows(StorageException.class, () -> restore(target, backup));
    disk.clearFaults();
    assertArrayEquals(new byte[1 << 20], get(target, "a"));
    assertNull(get(target, "z"));
  }

  /** What is said. */
  private static String refused(StorageEngine engine, Backup backup) {
    return assertThrows(IncompatibleFormatException.class, () -> restore(engine, backup))
        .toString();
  }

  /** A storage that has something done before each sync of the log. */
  private static final class LogSyncs extends ForwardingStorage {
    private volatile Runnable before = () -> {};

    LogSyncs(Storage storage) {
      super(storage);
    }

    void before(Runnable work) {
      before = work;
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      return StoreFiles.kindOf(file.name()) != StoreFiles.Kind.SEGMENT
          ? file
          : new ForwardingFile(file) {
            @Override
            public void sync() throws IOException {
              before.run();
              super.sync();
            }
          };
    }
  }

  /** Fails one write of the log, the first at which {@code when} holds. */
  private static void failLogWrite(CrashableStorage disk, BooleanSupplier when) {
    disk.failAt(
        1,
        Fault.ENOSPC,
        false,
        (operation, name) ->
            operation == Operation.WRITE
                && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT
                && when.getAsBoolean());
  }

  private static void failManifestWrite(CrashableStorage disk, Fault fault) {
    disk.failAt(
        1,
        fault,
        false,
        (operation, name) ->
            operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST);
  }

  private static boolean hasTemporary(CrashableStorage storage) throws Exception {
    return storage.list().stream()
        .anyMatch(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TEMPORARY);
  }
}
