package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
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
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that the system does not let go: another process has them open, or they are mapped. */
final class UndeletableFilesTest {
  private static final int ENTRIES = 100;
  private static final int LONG_BYTES = 5_000;
  private static final int VERY_LONG_BYTES = (1 << 20) + 1;

  private CrashableStorage storage = new CrashableStorage();

  @Test
  void storeOpensThoughAnOrphanStays() throws IOException {
    new Opened().close();
    storage = storage.crashKeepingAll();
    String orphan = StoreFiles.table(900);
    try (StorageFile file = storage.create(orphan)) {
      assertEquals(0, file.length());
    }
    storage.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> operation == Operation.DELETE && name.equals(orphan));
    try (Opened opened = new Opened()) {
      opened.write(1);
      assertTrue(storage.exists(orphan));
    }
    storage = storage.crashKeepingAll();
    try (Opened opened = new Opened()) {
      opened.check(1);
      assertFalse(storage.exists(orphan));
    }
  }

  @Test
  void fileThatCouldNotBeDeletedIsGoneLater() {
    try (Opened opened = new Opened()) {
      opened.write(1);
      opened.engine.flush();
      storage.failAt(1, Fault.EIO, /* sticky= */ true, op -> op == Operation.DELETE);
      opened.write(2);
      opened.engine.compact();
      List<String> left = opened.engine.verify().unknownFiles();
      assertTrue(left.size() > 1, left::toString);
      opened.scheduler.tick();
      assertEquals(left, opened.engine.verify().unknownFiles());
      storage.clearFaults();
      // Two, since after a failure it is tried at ever fewer ticks.
      opened.scheduler.tick();
      opened.scheduler.tick();
      assertEquals(List.of(), opened.engine.verify().unknownFiles());
      opened.check(2);
    }
  }

  /** A view of a mapping would keep its file until the next garbage collection. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void viewsAreOfMappingsWhereThoseCanBeDeletedAlone(boolean deletesMapped) {
    Storage mapped =
        new ForwardingStorage(storage) {
          @Override
          public boolean deletesMapped() {
            return deletesMapped;
          }
        };
    byte[] value = random(LONG_BYTES);
    byte[] veryLong = random(VERY_LONG_BYTES);
    try (StorageEngine engine = Engines.open(mapped, new ManualScheduler(1, 1))) {
      engine.writes().put(0, key(1), value, 0);
      engine.writes().put(0, key(2), veryLong, 0);
      engine.writes().put(0, key(3), value, 0);
      engine.flush();
      assertView(engine, 1, value, deletesMapped);
      assertView(engine, 2, veryLong, deletesMapped);
    }
  }

  private static void assertView(StorageEngine engine, int i, byte[] value, boolean direct) {
    ByteBuffer view = engine.reads().read(0, key(i), StoreReads.LATEST, found -> found);
    assertNotNull(view);
    assertEquals(ByteBuffer.wrap(value), view);
    assertEquals(direct, view.isDirect());
    assertTrue(view.isReadOnly());
  }

  private final class Opened implements AutoCloseable {
    final ManualScheduler scheduler = new ManualScheduler(1, 1);
    final StorageEngine engine = Engines.open(storage, scheduler);

    void write(int round) {
      for (int i = 0; i < ENTRIES; i++) {
        engine.writes().put(0, key(i), value(round, i), 0);
      }
    }

    void check(int round) {
      for (int i = 0; i < ENTRIES; i++) {
        assertArrayEquals(value(round, i), engine.reads().get(0, key(i), StoreReads.LATEST));
      }
    }

    @Override
    public void close() {
      engine.close();
      assertEquals(0, engine.memoryBytes());
    }
  }

  private static byte[] random(int length) {
    byte[] value = new byte[length];
    new Random(length).nextBytes(value);
    return value;
  }

  private static byte[] key(int i) {
    return String.format("key-%03d", i).getBytes(UTF_8);
  }

  private static byte[] value(int round, int i) {
    return new byte[] {(byte) round, (byte) i};
  }
}
