package io.kvsep.internal.load;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TestLoad;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.txn.EngineTransaction;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What others do while a load comes into force. */
final class BulkLoadRaceTest {
  private final CrashableStorage storage = new CrashableStorage();

  private static byte[] key(int n) {
    return String.format("key%04d", n).getBytes(UTF_8);
  }

  private static TestLoad load(int from, int to, int valueBytes) {
    List<TestLoad.Item> items = new ArrayList<>();
    for (int n = from; n < to; n++) {
      items.add(new TestLoad.Item(key(n), new byte[valueBytes]));
    }
    return new TestLoad(items);
  }

  /** Calls back before each write to a manifest. */
  private static final class WatchedStorage extends ForwardingStorage {
    private Runnable beforeEdit = () -> {};

    WatchedStorage(CrashableStorage storage) {
      super(storage);
    }

    @Override
    protected StorageFile wrap(StorageFile file) {
      if (!file.name().startsWith("MANIFEST")) {
        return file;
      }
      return new ForwardingFile(file) {
        @Override
        public void write(ByteBuffer source, long offset) throws IOException {
          beforeEdit.run();
          super.write(source, offset);
        }
      };
    }
  }

  /**
   * At whatever edit a transaction begins, or looks at what has changed: it has read at its moment
   * what the load replaces.
   */
  @Test
  void aTransactionThatBeginsWhileALoadComesIntoForceMeetsAConflict() {
    boolean more = true;
    int edits = 0;
    for (int at = 0; more; at++) {
      WatchedStorage watched = new WatchedStorage(new CrashableStorage());
      try (StorageEngine engine = Engines.open(watched, new ManualScheduler(1, 1))) {
        engine.writes().put(0, key(3), new byte[10], 0);
        List<EngineTransaction> begun = new ArrayList<>();
        int wanted = at;
        int[] met = new int[1];
        watched.beforeEdit =
            () -> {
              if (met[0]++ == wanted) {
                EngineTransaction transaction = engine.begin();
                assertFalse(transaction.contains(0, key(7)));
                transaction.put(0, key(900), new byte[1], 0);
                begun.add(transaction);
              }
            };
        engine.loads().load(0, load(0, 20, 100));
        watched.beforeEdit = () -> {};
        more = !begun.isEmpty();
        edits += begun.size();
        for (EngineTransaction transaction : begun) {
          assertThrows(io.kvsep.error.ConflictException.class, transaction::commit, "edit " + at);
        }
      }
    }
    assertTrue(edits >= 2, "only " + edits + " edits");
  }

  /** Calls back before one of the tables is made, counted from 0. */
  private static final class WatchedTables extends ForwardingStorage {
    private final int wanted;
    private int made;
    private Runnable beforeTable = () -> {};

    WatchedTables(CrashableStorage storage, int wanted) {
      super(storage);
      this.wanted = wanted;
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE && made++ == wanted) {
        beforeTable.run();
      }
      return super.create(name);
    }
  }

  /** At whatever table, also one that is flushed for the load before it comes into force. */
  @Test
  void nothingIsLoadedIntoAKeyspaceThatIsDroppedMeanwhile() {
    boolean[] dropped = {true};
    int drops = -1;
    for (int at = 0; dropped[0]; at++) {
      drops++;
      dropped[0] = false;
      WatchedTables watched = new WatchedTables(new CrashableStorage(), at);
      try (StorageEngine engine = Engines.open(watched, new ManualScheduler(1, 1))) {
        int keyspace = engine.keyspaces().open("dropped");
        engine.writes().put(0, key(3), new byte[10], 0);
        watched.beforeTable =
            () -> {
              dropped[0] = true;
              engine.keyspaces().drop(keyspace);
            };
        boolean loaded = true;
        try {
          engine.loads().load(keyspace, load(0, 20, 100));
        } catch (IllegalStateException e) {
          loaded = false;
        }
        assertEquals(!dropped[0], loaded, "dropped at table " + at);
      }
    }
    assertTrue(drops >= 2, "only " + drops + " tables");
  }

  /** Nothing else syncs it, and it may come when all that there was before is flushed. */
  @ParameterizedTest
  @ValueSource(ints = {20, 500})
  void whatIsCommittedBeforeALoadIsDurableWithIt(int valueBytes) {
    boolean[] written = {true};
    int writes = -1;
    for (int at = 0; written[0]; at++) {
      writes++;
      written[0] = false;
      CrashableStorage disk = new CrashableStorage();
      WatchedTables watched = new WatchedTables(disk, at);
      try (StorageEngine engine = Engines.open(watched, new ManualScheduler(1, 1))) {
        engine.writes().put(0, key(900), new byte[valueBytes], 0);
        watched.beforeTable =
            () -> {
              written[0] = true;
              engine.writes().put(0, key(901), new byte[valueBytes], 0);
            };
        engine.loads().load(0, load(0, 20, 100));
        try (StorageEngine again =
            Engines.open(disk.moment().crashSyncedOnly(), new ManualScheduler(1, 1))) {
          for (int n : written[0] ? new int[] {0, 900, 901} : new int[] {0, 900}) {
            assertTrue(again.reads().contains(0, key(n), StoreReads.LATEST), n + " at " + at);
          }
        }
      }
    }
    assertTrue(writes >= 2, "only " + writes + " tables");
  }

  /** What a write left in the log that failed, and could not be cut off, is older than the load. */
  @Test
  void remainsOfAFailedWriteDoNotComeBackBehindALoad() {
    for (int valueBytes : new int[] {20, 500}) {
      CrashableStorage failing = new CrashableStorage();
      StorageEngine engine = Engines.open(failing, new ManualScheduler(1, 1));
      engine.writes().put(0, key(5), new byte[] {1}, 0);
      BiPredicate<Operation, String> log =
          (operation, name) -> operation == Operation.WRITE && name.endsWith(".vlog");
      failing.failAt(1, Fault.LATE_EIO, false, log);
      failing.failAt(2, Fault.EIO, true, log);
      failing.failAt(1, Fault.EIO, true, operation -> operation == Operation.TRUNCATE);
      assertThrows(StorageException.class, () -> engine.writes().put(0, key(5), new byte[] {2}, 0));
      failing.clearFaults();
      engine.loads().load(0, load(0, 10, valueBytes));
      try (StorageEngine again =
          Engines.open(failing.crashKeepingAll(), new ManualScheduler(1, 1))) {
        assertEquals(0, again.stats().replayedBytes(), "bytes of a write that failed");
        byte[] found = again.reads().get(0, key(5), StoreReads.LATEST);
        assertArrayEquals(new byte[valueBytes], found);
        again.compact();
        assertArrayEquals(found, again.reads().get(0, key(5), StoreReads.LATEST));
      }
      assertThrows(RuntimeException.class, engine::close);
    }
  }

  /** Where its edit cannot be cut off, no write comes any more before which it is undone. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aLoadThatFailedIsNotThereAfterAClose(boolean cuts) {
    int failures = 0;
    for (int nth = 1; nth <= 10; nth++) {
      CrashableStorage failing = new CrashableStorage();
      StorageEngine engine = Engines.open(failing, new ManualScheduler(1, 1));
      // Keeps its segment, so that closing has no edit of its own.
      engine.writes().put(0, key(900), new byte[500], 0);
      engine.flush();
      failing.failAt(
          nth,
          Fault.LATE_EIO,
          false,
          (operation, name) -> operation == Operation.WRITE && name.startsWith("MANIFEST"));
      if (!cuts) {
        failing.failNext(Fault.EIO, operation -> operation == Operation.TRUNCATE);
      }
      boolean loaded = true;
      try {
        engine.loads().load(0, load(0, 20, 500));
      } catch (StorageException e) {
        loaded = false;
        failures++;
      }
      failing.clearFaults();
      engine.close();
      try (StorageEngine again =
          Engines.open(failing.crashKeepingAll(), new ManualScheduler(1, 1))) {
        assertArrayEquals(new byte[500], again.reads().get(0, key(900), StoreReads.LATEST));
        assertEquals(loaded, again.reads().get(0, key(5), StoreReads.LATEST) != null, "at " + nth);
      }
    }
    assertTrue(failures > 0);
  }

  @Test
  void anIteratorIsNotAskedAgainOnceItHasEnded() {
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      for (int count : new int[] {0, 1, 200}) {
        TestLoad entries = load(0, count, 40);
        int[] ends = new int[1];
        LoadSource once =
            new LoadSource() {
              @Override
              public boolean next() {
                boolean there = entries.next();
                ends[0] += there ? 0 : 1;
                return there;
              }

              @Override
              public byte[] key() {
                return entries.key();
              }

              @Override
              public byte[] value() {
                return entries.value();
              }

              @Override
              public long expiresAtMillis() {
                return entries.expiresAtMillis();
              }
            };
        assertEquals(count, engine.loads().load(0, once));
        assertEquals(1, ends[0], "times it was asked at its end, of " + count);
      }
    }
  }
}
