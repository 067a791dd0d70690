package io.kvsep.internal.sstable;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.FixedMemory;
import io.kvsep.testing.ManualScheduler;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Which parts of tables are loaded before they are touched, in a store that is cold. */
final class ColdTableTest {
  private static final int ENTRIES = 5_000;
  private static final int BLOCK_BYTES = 2_048;

  private final List<Integer> loads = new ArrayList<>();
  private final StorageEngine store = filled();

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void aLookupLoadsItsBlockAndLittleElse() {
    store.reads().get(0, key(0), StoreReads.LATEST);
    for (int i = 0; i < ENTRIES; i += 37) {
      loads.clear();
      assertArrayEquals(value(i), store.reads().get(0, key(i), StoreReads.LATEST));
      int bytes = loads.stream().mapToInt(count -> count).sum();
      assertTrue(loads.size() <= 5, () -> loads.toString());
      assertTrue(bytes < 2 * BLOCK_BYTES, () -> loads.toString());
    }
  }

  @Test
  void theFilterOfTheLastLevelIsLoadedForTheFirstAbsentKey() {
    int filterBytes = ENTRIES * 10 / 8;
    loads.clear();
    assertArrayEquals(value(7), store.reads().get(0, key(7), StoreReads.LATEST));
    assertTrue(longestLoad() < filterBytes, () -> loads.toString());
    byte[] absent = String.format("%06dx", 7).getBytes(UTF_8);
    assertNull(store.reads().get(0, absent, StoreReads.LATEST));
    assertTrue(longestLoad() >= filterBytes, () -> loads.toString());
  }

  private int longestLoad() {
    return loads.stream().mapToInt(count -> count).max().orElse(0);
  }

  @Test
  void aWalkLoadsMoreAtOnceTheLongerItIsInBothDirections() {
    for (boolean reverse : new boolean[] {false, true}) {
      loads.clear();
      ScanBounds all = new ScanBounds(0, null, null, reverse, false, Long.MAX_VALUE);
      int found = 0;
      try (SnapshotCursor cursor = store.reads().cursor(all, StoreReads.LATEST)) {
        while (cursor.next()) {
          int entry = reverse ? ENTRIES - 1 - found : found;
          assertArrayEquals(key(entry), cursor.key());
          assertArrayEquals(value(entry), cursor.value());
          found++;
        }
      }
      assertEquals(ENTRIES, found);
      int longest = longestLoad();
      assertTrue(longest > 8 * BLOCK_BYTES, "the longest load has " + longest + " bytes");
      assertTrue(loads.size() < ENTRIES / 10, loads.size() + " loads");
    }
  }

  private StorageEngine filled() {
    Storage loading =
        new ForwardingStorage(new CrashableStorage()) {
          @Override
          public boolean load(ByteBuffer mapped) {
            loads.add(mapped.remaining());
            return true;
          }
        };
    EngineConfig config =
        ConfigDraft.of(Engines.config(loading, new ManualScheduler(3, 1)))
            .shape(Shape.forBudget(16 << 20, /* packsBlocks= */ false))
            .memory(FixedMemory.NONE)
            .build();
    StorageEngine opened = StorageEngine.open(config);
    for (int i = 0; i < ENTRIES; i++) {
      opened.writes().put(0, key(i), value(i), 0);
    }
    opened.flush();
    opened.compact();
    return opened;
  }

  private static byte[] key(int entry) {
    return String.format("%06d", entry).getBytes(UTF_8);
  }

  private static byte[] value(int entry) {
    return String.format("%032d", entry).getBytes(UTF_8);
  }
}
