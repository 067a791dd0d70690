package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.TrackedEngine;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** An open cursor keeps the entries of its snapshot, also after other readers have lost them. */
final class CursorPinTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);

  /** Steps before the cursor is made: its values lie in memtables, tables, several segments. */
  private static final List<List<Step>> HISTORIES =
      List.of(
          List.of(Step.PUT_LARGE),
          List.of(Step.BATCH, Step.PUT_LARGE, Step.PUT_LARGE, Step.PUT_LARGE),
          List.of(Step.PUT_LARGE, Step.FLUSH, Step.PUT_LARGE, Step.PUT_LARGE),
          List.of(Step.PUT_LARGE, Step.PUT_LARGE, Step.FLUSH, Step.COMPACT, Step.PUT_LARGE));

  @Test
  void aCursorReadsItsMomentAfterEverythingWasOverwrittenAndCompacted() {
    for (List<Step> history : HISTORIES) {
      for (Variant variant : Variant.values()) {
        CrashableStorage storage = new CrashableStorage();
        TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
        tracked.open();
        history.forEach(step -> assertTrue(tracked.run(step)));
        NavigableMap<byte[], byte[]> moment = tracked.current();
        SnapshotCursor cursor = tracked.engine().reads().cursor(ALL, StoreReads.LATEST);
        for (int round = 0; round < 4; round++) {
          for (int i = 0; i < 6; i++) {
            assertTrue(tracked.run(Step.PUT_LARGE));
          }
          assertTrue(tracked.run(Step.FLUSH));
          assertTrue(tracked.run(Step.COMPACT));
        }
        assertEquals(TrackedEngine.text(moment), TrackedEngine.text(read(cursor)));
        cursor.close();
        tracked.checkReads();
        assertTrue(tracked.close());
      }
    }
  }

  @Test
  void aSnapshotReadsItsMomentAfterEverythingWasOverwrittenAndCompacted() {
    for (List<Step> history : HISTORIES) {
      TrackedEngine tracked =
          new TrackedEngine(new CrashableStorage(), Variant.SEPARATED, /* crashes= */ false);
      tracked.open();
      history.forEach(step -> assertTrue(tracked.run(step)));
      NavigableMap<byte[], byte[]> moment = tracked.current();
      StoreReads reads = tracked.engine().reads();
      SnapshotLease hold = reads.acquireSnapshot();
      for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 6; i++) {
          assertTrue(tracked.run(Step.PUT_LARGE));
        }
        assertTrue(tracked.run(Step.FLUSH));
        assertTrue(tracked.run(Step.COMPACT));
        for (Map.Entry<byte[], byte[]> entry : moment.entrySet()) {
          assertArrayEquals(entry.getValue(), reads.get(0, entry.getKey(), hold));
        }
      }
      reads.releaseSnapshot(hold);
      assertTrue(tracked.close());
    }
  }

  private static NavigableMap<byte[], byte[]> read(SnapshotCursor cursor) {
    NavigableMap<byte[], byte[]> found = new TreeMap<>(Arrays::compareUnsigned);
    while (cursor.next()) {
      found.put(cursor.key(), cursor.value());
    }
    return found;
  }
}
