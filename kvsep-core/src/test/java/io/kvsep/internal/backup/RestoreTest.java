package io.kvsep.internal.backup;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Parked;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Restores beside other writes. */
final class RestoreTest {
  private record Backup(byte[] bytes, long until) {}

  private static StorageEngine open(Storage storage) {
    return Engines.open(storage, new ManualScheduler(3, 2));
  }

  private static Backup backup(StorageEngine engine, long since) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    long until = engine.backups().backup(output, since);
    return new Backup(output.toByteArray(), until);
  }

  private static long restore(StorageEngine engine, Backup backup) {
    return engine.backups().restore(new ByteArrayInputStream(backup.bytes()));
  }

  private static void put(StorageEngine engine, String key, byte[] value) {
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
  }

  private static byte @Nullable [] get(StorageEngine engine, String key) {
    return engine.reads().get(0, key.getBytes(UTF_8), StoreReads.LATEST);
  }

  private static InputStream meanwhile(Backup backup, Runnable work) {
    return new ByteArrayInputStream(backup.bytes()) {
      private boolean done;

      @Override
      public synchronized int read(byte[] bytes, int offset, int length) {
        if (pos >= BackupFormat.HEADER_BYTES + BackupFormat.BLOCK_HEADER_BYTES && !done) {
          done = true;
          work.run();
        }
        return super.read(bytes, offset, length);
      }
    };
  }

  /** Of two calls with the same backup one restores it. */
  @Test
  void aSecondRestoreIsRefusedByWhatTheFirstHasDone() throws Exception {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      put(source, "a", new byte[] {1});
      Backup backup = backup(source, 0);
      FutureTask<Long> second = new FutureTask<>(() -> restore(target, backup));
      InputStream first =
          meanwhile(
              backup,
              () -> {
                Thread other = new Thread(second);
                other.start();
                Parked.await(List.of(other));
              });

      int refused = 0;
      try {
        target.backups().restore(first);
      } catch (IncompatibleFormatException e) {
        refused++;
      }
      try {
        second.get();
      } catch (ExecutionException e) {
        assertInstanceOf(IncompatibleFormatException.class, e.getCause());
        refused++;
      }
      assertEquals(1, refused);
      assertArrayEquals(new byte[] {1}, get(target, "a"));
    }
  }

  @Test
  void readersSeeAllOfARestoreOrNothing() {
    CrashableStorage disk = new CrashableStorage();
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(disk)) {
      put(source, "a", new byte[1 << 20]);
      put(source, "z", new byte[] {1});
      int[] looks = new int[1];
      disk.failAt(
          Long.MAX_VALUE,
          Fault.EIO,
          false,
          (operation, name) -> {
            assertEquals(get(target, "a") == null, get(target, "z") == null);
            looks[0]++;
            return false;
          });
      restore(target, backup(source, 0));
      disk.clearFaults();
      assertTrue(looks[0] > 10, "only " + looks[0]);
      assertArrayEquals(new byte[] {1}, get(target, "z"));
    }
  }

  /** A write, or what else changes a store. */
  private enum Change {
    PUT,
    INCREMENT,
    DROP,
    KEYSPACE,
    LOAD;

    void in(StorageEngine target) {
      switch (this) {
        case PUT -> put(target, "mine", new byte[] {7});
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

  /** Before, and at each table that the restore makes. */
  @ParameterizedTest
  @EnumSource
  void whatIsChangedBeforeARestoreIsDoneIsKept(Change change) {
    boolean changed = true;
    int at = 0;
    for (; changed; at++) {
      MadeTables disk = new MadeTables(new CrashableStorage());
      try (StorageEngine source = open(new CrashableStorage());
          StorageEngine target = open(disk)) {
        put(source, "a", new byte[] {1});
        Backup first = backup(source, 0);
        put(source, "b", new byte[300]);
        Backup second = backup(source, first.until());
        restore(target, first);
        if (at == 0) {
          change.in(target);
        } else {
          disk.before(at, () -> change.in(target));
          changed = change != Change.LOAD && !restores(target, second);
        }
        if (changed) {
          assertTrue(refused(target, second).contains("and changed"));
          change.check(target);
        }
      }
    }
    assertTrue(at > 2 || change == Change.LOAD, "only " + at);
  }

  private static boolean restores(StorageEngine target, Backup backup) {
    try {
      restore(target, backup);
      return true;
    } catch (IncompatibleFormatException e) {
      return false;
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

  @Test
  void aKeyspaceThatARestoreDropsIsClosed() {
    try (StorageEngine source = open(new CrashableStorage());
        StorageEngine target = open(new CrashableStorage())) {
      int id = source.keyspaces().open("gone");
      source.writes().put(id, new byte[] {1}, new byte[] {1}, 0);
      Backup first = backup(source, 0);
      restore(target, first);
      assertEquals(id, target.keyspaces().open("gone"));
      source.keyspaces().drop(id);
      restore(target, backup(source, first.until()));

      assertThrows(
          IllegalStateException.class,
          () -> target.writes().put(id, new byte[] {1}, new byte[] {1}, 0));
      assertThrows(IllegalStateException.class, () -> target.keyspaces().requirePresent(id));
      assertEquals(List.of(), target.keyspaces().names());
    }
  }

  /** It has used up a number that only the seal of the segment tells. */
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

  /** What is said. */
  private static String refused(StorageEngine engine, Backup backup) {
    return assertThrows(IncompatibleFormatException.class, () -> restore(engine, backup))
        .toString();
  }

  /** Runs something once, before a table is made. */
  private static final class MadeTables extends ForwardingStorage {
    private int left;
    private Runnable before = () -> {};

    MadeTables(Storage storage) {
      super(storage);
    }

    void before(int table, Runnable work) {
      left = table;
      before = work;
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE && --left == 0) {
        before.run();
      }
      return super.create(name);
    }
  }
}
