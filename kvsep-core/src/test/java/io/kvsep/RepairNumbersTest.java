package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Repair of a store that still has what a device refused to cut off. It tells it from what came
 * later by the numbers, so these must not be the same.
 */
final class RepairNumbersTest {
  @TempDir Path folder;

  @Test
  void whatWasSyncedBehindAFailedWriteIsKept() throws Exception {
    CrashableStorage closed = closedBehindAFailedWrite();
    StorageEngine again = Engines.open(closed, new ManualScheduler(1, 1));
    again.writes().put(0, key("later"), new byte[] {7}, 0);
    again.sync();
    CrashableStorage left = closed.crashSyncedOnly();
    assertThrows(RuntimeException.class, again::close, "its storage is gone");
    for (String name : left.list()) {
      if (name.equals(StoreFiles.CURRENT) || StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST) {
        left.delete(name);
      }
    }
    StoreRepair.run(left, folder.resolve("new"), KvOptions.defaults());
    try (KvStore repaired = KvStore.open(folder.resolve("new"))) {
      assertArrayEquals(new byte[2_000], repaired.get(key("first")));
      assertArrayEquals(new byte[] {7}, repaired.get(key("later")));
    }
  }

  /** The device has all of what it refused, and neither cuts it off nor overwrites it. */
  private static CrashableStorage closedBehindAFailedWrite() {
    CrashableStorage storage = new CrashableStorage();
    StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1));
    engine.writes().put(0, key("first"), new byte[2_000], 0);
    storage.failAt(1, Fault.LATE_EIO, /* sticky= */ false, RepairNumbersTest::isWriteOfTheLog);
    storage.failAt(2, Fault.EIO, /* sticky= */ false, RepairNumbersTest::isWriteOfTheLog);
    storage.failAt(1, Fault.EIO, /* sticky= */ true, operation -> operation == Operation.TRUNCATE);
    assertThrows(
        StorageException.class, () -> engine.writes().put(0, key("refused"), new byte[2_000], 0));
    storage.clearFaults();
    assertNull(engine.reads().get(0, key("refused"), StoreReads.LATEST));
    engine.close();
    return storage.crashSyncedOnly();
  }

  private static boolean isWriteOfTheLog(Operation operation, String name) {
    return operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT;
  }

  private static byte[] key(String key) {
    return key.getBytes(UTF_8);
  }
}
