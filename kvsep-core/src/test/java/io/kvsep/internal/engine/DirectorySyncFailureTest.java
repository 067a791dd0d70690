package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.KvException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.util.Iterator;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * A sync of the directory that fails may take the names of files with it that others have made: the
 * next one would succeed, and those files would come into force without them.
 */
final class DirectorySyncFailureTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  private final CrashableStorage storage = new CrashableStorage();

  private static StorageEngine open(CrashableStorage storage) {
    return Engines.open(storage, new ManualScheduler(1, 2));
  }

  private void failNextDirectorySync() {
    storage.failNext(Fault.SYNC_FAILS, operation -> operation == Operation.SYNC_DIRECTORY);
  }

  /** The load has made files when the flush of another thread fails. */
  @Test
  void aLoadBesideAFlushThatFailsDoesNotComeIntoForce() {
    StorageEngine engine = open(storage);
    engine.writes().put(0, KEY, new byte[] {1}, 0);
    engine.sync();
    TestLoad load =
        new TestLoad(
            withAfterFirst(
                new TestLoad.Item("load".getBytes(UTF_8), new byte[20_000]),
                () -> {
                  failNextDirectorySync();
                  assertThrows(KvException.class, engine::flush);
                }));
    assertThrows(KvException.class, () -> engine.loads().load(0, load));
    assertNull(engine.reads().get(0, "load".getBytes(UTF_8), StoreReads.LATEST));
    assertThrows(StoreFailedException.class, engine::close);
    try (StorageEngine again = open(storage.crashSyncedOnly())) {
      assertArrayEquals(new byte[] {1}, again.reads().get(0, KEY, StoreReads.LATEST));
    }
  }

  private static Iterator<TestLoad.Item> withAfterFirst(TestLoad.Item item, Runnable afterFirst) {
    return new Iterator<>() {
      private int given;

      @Override
      public boolean hasNext() {
        if (given == 1) {
          given = 2;
          afterFirst.run();
        }
        return given == 0;
      }

      @Override
      public TestLoad.Item next() {
        given = 1;
        return item;
      }
    };
  }

  @Test
  void theStoreHasFailedUntilItIsOpenedAgain() {
    StorageEngine engine = open(storage);
    engine.writes().put(0, KEY, new byte[] {1}, 0);
    failNextDirectorySync();
    assertThrows(KvException.class, engine::flush);

    assertThrows(StoreFailedException.class, () -> engine.writes().put(0, KEY, new byte[] {2}, 0));
    assertThrows(KvException.class, engine::flush);
    assertArrayEquals(new byte[] {1}, engine.reads().get(0, KEY, StoreReads.LATEST));
    assertThrows(StoreFailedException.class, engine::close);
    CrashableStorage kept = storage.crashKeepingAll();
    try (StorageEngine again = open(kept)) {
      assertArrayEquals(new byte[] {1}, again.reads().get(0, KEY, StoreReads.LATEST));
      again.writes().put(0, KEY, new byte[] {3}, 0);
      again.flush();
      assertEquals(List.of(), again.verify().problems());
    }
  }
}
