package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Collections;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A damaged table below level 0: cursors whose bounds it does not meet do not look at it. */
final class DamagedLevelTest {
  private CrashableStorage storage = new CrashableStorage();
  private StorageEngine engine;
  private int space;

  /** Keys n to z in the damaged table; a to f, and another keyspace, above it. */
  @BeforeEach
  void damage() throws IOException {
    engine = open();
    space = engine.keyspaces().open("space");
    for (char letter = 'n'; letter <= 'z'; letter++) {
      put(0, letter);
    }
    engine.compact();
    String damaged =
        Collections.max(
            storage.list().stream()
                .filter(name -> StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE)
                .toList());
    for (char letter = 'a'; letter <= 'f'; letter++) {
      put(0, letter);
      put(space, letter);
    }
    engine.flush();
    engine.close();
    storage = storage.crashKeepingAll();
    storage.corrupt(damaged, storage.contents(damaged).length - 20, found -> found ^ 0x10);
    engine = open();
  }

  @AfterEach
  void close() {
    engine.close();
  }

  private StorageEngine open() {
    return Engines.open(storage, new ManualScheduler(1, 2));
  }

  private void put(int keyspace, char letter) {
    engine.writes().put(keyspace, key(letter + "1"), new byte[30], 0);
  }

  private static byte[] key(String text) {
    return text.getBytes(UTF_8);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void cursorsOutsideItsRangeAreWalked(boolean reverse) {
    assertEquals(6, count(0, "a", "g", reverse));
    assertEquals(6, count(0, null, "n1", reverse));
    assertEquals(0, count(0, "g", "n", reverse));
    assertEquals(0, count(0, "zz", null, reverse));
    assertEquals(6, count(space, null, null, reverse));
    assertThrows(CorruptionException.class, () -> count(0, null, null, reverse));
    assertThrows(CorruptionException.class, () -> count(0, "g", "n2", reverse));
    assertThrows(CorruptionException.class, () -> count(0, "z1", null, reverse));
  }

  private int count(int keyspace, @Nullable String from, @Nullable String to, boolean reverse) {
    ScanBounds bounds =
        new ScanBounds(
            keyspace,
            from == null ? null : key(from),
            to == null ? null : key(to),
            reverse,
            false,
            Long.MAX_VALUE);
    int count = 0;
    try (SnapshotCursor cursor = engine.reads().cursor(bounds, StoreReads.LATEST)) {
      while (cursor.next()) {
        count++;
      }
    }
    return count;
  }
}
