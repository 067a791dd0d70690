package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Restores that something comes in between of. */
final class RestoreTest {
  private record Backup(byte[] bytes, long until) {}

  private static StorageEngine open(Storage storage) {
    return Engines.open(storage, new ManualScheduler(3, 2));
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

  private static boolean hasTemporary(CrashableStorage storage) throws Exception {
    return storage.list().stream()
        .anyMatch(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TEMPORARY);
  }
}
