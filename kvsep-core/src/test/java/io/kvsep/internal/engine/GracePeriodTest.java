package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** What left the current view stays for a reader that may have found it there. */
@Tag("compiled")
final class GracePeriodTest {
  private final CrashableStorage storage = new CrashableStorage();
  private final StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1));
  private final Epochs<ReadContext> epochs = engine.reads().epochs();
  private EpochSlot<ReadContext> inside = epochs.vacant();

  @AfterEach
  void close() {
    epochs.exit(inside);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private void put(int value) {
    engine.writes().put(0, "key".getBytes(UTF_8), new byte[] {(byte) value}, 0);
  }

  @Test
  void aTableThatWasReplaced() throws IOException {
    put(1);
    engine.compact();
    inside = epochs.enter();
    TableFile table = engine.reads().currentState().get().version.tables(Version.LEVELS - 1)[0];
    String file = StoreFiles.table(table.meta().number());
    table.reader();
    put(2);
    engine.compact();
    assertNotSame(table, engine.reads().currentState().get().version.tables(Version.LEVELS - 1)[0]);
    assertTrue(table.isOpen());
    assertTrue(storage.exists(file));
    epochs.exit(inside);
    epochs.collect();
    assertFalse(table.isOpen());
    assertFalse(storage.exists(file));
  }

  @Test
  void aMemtableThatWasFlushed() {
    inside = epochs.enter();
    Memtable memtable = engine.reads().currentState().get().active();
    Region arena = memtable.arena();
    long length = arena.length();
    put(1);
    engine.flush();
    assertNotSame(memtable, engine.reads().currentState().get().active());
    assertEquals(length, arena.length());
    epochs.exit(inside);
    epochs.collect();
    assertEquals(0, arena.length());
  }
}
