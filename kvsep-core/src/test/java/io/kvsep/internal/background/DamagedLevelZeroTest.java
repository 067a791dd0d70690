package io.kvsep.internal.background;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A table of level 0 that cannot be opened: what does not lie in its range can be read. */
final class DamagedLevelZeroTest {
  private static final byte[] VALUE = new byte[30];

  private CrashableStorage storage = new CrashableStorage();
  private StorageEngine engine;

  private static byte[] key(String text) {
    return text.getBytes(UTF_8);
  }

  private StorageEngine open() {
    return Engines.open(storage, new ManualScheduler(1, 2));
  }

  /**
   * Keys a to z in the last level; above them a table from f to k, in which g to k is deleted, and
   * a newer one from m to p that is sound.
   */
  @BeforeEach
  void damage() throws IOException {
    engine = open();
    for (char letter = 'a'; letter <= 'z'; letter++) {
      engine.writes().put(0, key(letter + "1"), VALUE, 0);
    }
    engine.compact();
    engine.writes().put(0, key("f5"), VALUE, 0);
    engine.writes().deleteRange(0, key("g"), key("k"));
    engine.flush();
    String damaged = Collections.max(tables());
    engine.writes().put(0, key("m1"), VALUE, 0);
    engine.writes().deleteRange(0, key("n"), key("p"));
    engine.flush();
    assertEquals(2, Engines.levelTables(engine.stats())[0]);
    engine.close();
    storage = storage.crashKeepingAll();
    storage.corrupt(damaged, storage.contents(damaged).length - 20, found -> found ^ 0x10);
    engine = open();
  }

  @AfterEach
  void nothingIsLeft() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  private List<String> tables() throws IOException {
    return storage.list().stream()
        .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE)
        .toList();
  }

  @Test
  void keysOutsideItsRangeCanBeReadAndNoOthers() {
    StoreReads reads = engine.reads();
    for (char letter = 'a'; letter <= 'z'; letter++) {
      byte[] key = key(letter + "1");
      if (letter == 'n' || letter == 'o') {
        assertNull(reads.get(0, key, StoreReads.LATEST), "deleted in the newer table");
      } else if (letter < 'g' || letter > 'k') {
        assertArrayEquals(VALUE, reads.get(0, key, StoreReads.LATEST));
        assertTrue(reads.contains(0, key, StoreReads.LATEST));
        assertNotNull(reads.getAll(0, List.of(key, key("zz")), StoreReads.LATEST).get(0));
      } else if (letter < 'k') {
        assertThrows(CorruptionException.class, () -> reads.get(0, key, StoreReads.LATEST));
        assertThrows(CorruptionException.class, () -> reads.contains(0, key, StoreReads.LATEST));
      }
    }
    assertThrows(CorruptionException.class, () -> reads.get(0, key("f5"), StoreReads.LATEST));
    // As far as its manifest tells, the table ends with k itself.
    assertThrows(CorruptionException.class, () -> reads.get(0, key("k"), StoreReads.LATEST));
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cursorsOutsideItsRangeCanBeWalkedAndNoOthers(boolean reverse) {
    assertEquals(6, count("a", "f5", reverse));
    assertEquals(14, count("k1", null, reverse));
    assertEquals(3, count("l", "o5", reverse) + count("w", "x", reverse));
    assertThrows(CorruptionException.class, () -> count(null, null, reverse));
    assertThrows(CorruptionException.class, () -> count("f5", "f6", reverse));
    assertThrows(CorruptionException.class, () -> count("k", "k0", reverse));
  }

  private int count(@Nullable String from, @Nullable String to, boolean reverse) {
    ScanBounds bounds =
        new ScanBounds(
            0,
            from == null ? null : key(from),
            to == null ? null : key(to),
            reverse,
            false,
            Long.MAX_VALUE,
            4);
    int count = 0;
    try (SnapshotCursor cursor = engine.reads().cursor(bounds, StoreReads.LATEST)) {
      while (cursor.next()) {
        assertArrayEquals(VALUE, cursor.value());
        count++;
      }
      assertFalse(cursor.isValid());
    }
    return count;
  }
}
