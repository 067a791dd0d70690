package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Reads of every kind; each has to give what a store is known to hold. */
record TrackedReads(StorageEngine engine, StoreContent expected, long nowMillis) {
  /** Throws when this kind of read gives anything else. */
  void check(Step step) {
    StoreReads reads = engine.reads();
    switch (step) {
      case GET -> checkGets(StoreReads.LATEST);
      case GET_ALL -> checkGetAll();
      case SNAPSHOT -> {
        SnapshotLease hold = reads.acquireSnapshot();
        try {
          checkGets(hold);
          checkScan(false, hold);
        } finally {
          reads.releaseSnapshot(hold);
        }
      }
      case SCAN -> checkScan(false, StoreReads.LATEST);
      case SCAN_BACK -> checkScan(true, StoreReads.LATEST);
      default -> throw new IllegalArgumentException("not a read: " + step);
    }
  }

  private void checkGets(SnapshotLease hold) {
    for (int id = 0; id < 2; id++) {
      for (int i = 0; i < TrackedStore.KEYS; i++) {
        byte[] found = engine.reads().get(id, TrackedEngine.key(i), hold);
        assertEquals(digest(id, i), digest(found), "a get");
      }
    }
  }

  private void checkGetAll() {
    List<byte[]> keys = new ArrayList<>();
    List<@Nullable String> all = new ArrayList<>();
    for (int i = 0; i < TrackedStore.KEYS; i++) {
      keys.add(TrackedEngine.key(i));
      all.add(digest(0, i));
    }
    List<@Nullable String> found = new ArrayList<>();
    engine.reads().getAll(0, keys, StoreReads.LATEST).forEach(value -> found.add(digest(value)));
    assertEquals(all, found, "getAll");
  }

  private void checkScan(boolean reverse, SnapshotLease hold) {
    for (int id = 0; id < StoreContent.IDS; id++) {
      List<String> lines = expected.lines(id, nowMillis);
      if (reverse) {
        Collections.reverse(lines);
      }
      List<String> found = new ArrayList<>();
      ScanBounds all = new ScanBounds(id, null, null, reverse, false, Long.MAX_VALUE);
      try (SnapshotCursor cursor = engine.reads().cursor(all, hold)) {
        while (cursor.next()) {
          byte[] value = cursor.value();
          found.add(StoreContent.line(id, cursor.key(), value, cursor.expiresAtMillis()));
        }
      }
      assertEquals(lines, found, reverse ? "a scan back" : "a scan");
    }
  }

  private @Nullable String digest(int id, int key) {
    return expected.digest(id, new String(TrackedEngine.key(key), UTF_8), nowMillis);
  }

  private static @Nullable String digest(byte @Nullable [] value) {
    return value == null ? null : StoreContent.digest(value);
  }
}
