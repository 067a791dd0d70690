package io.kvsep.internal.engine;

import static io.kvsep.internal.engine.ScatteredStore.ENTRIES;
import static io.kvsep.internal.engine.ScatteredStore.SEGMENTS;
import static io.kvsep.internal.engine.ScatteredStore.SEGMENT_BYTES;
import static io.kvsep.internal.engine.ScatteredStore.STEP;
import static io.kvsep.internal.engine.ScatteredStore.VALUE_BYTES;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.feed.ChangeReader;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.io.IOException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A full compaction puts the values of a store in memory in key order; nothing else does. */
final class CompactOrderTest {
  private static final long BYTES = (long) ENTRIES * VALUE_BYTES;

  private final ScatteredStore files = new ScatteredStore(() -> Long.MAX_VALUE);
  private final StorageEngine store = files.engine;

  @AfterEach
  void close() {
    files.close();
  }

  @Test
  void anIdleStoreInMemoryIsNotRewritten() {
    files.fill(/* inOrder= */ false);
    long written = store.stats().deviceBytesWritten();
    files.rest();
    assertEquals(0, files.rewritten());
    assertTrue(store.stats().deviceBytesWritten() - written < BYTES / 10);
  }

  @Test
  void allValuesLieInOrderAndTablesPointAtThem() throws IOException {
    files.fill(/* inOrder= */ false);
    long written = store.stats().logBytesWritten();
    store.compact();
    assertEquals(0, files.bytesAsWritten());
    assertEquals(List.of(), PointerRefreshTest.oldNames(files.storage));
    long moved = store.stats().logBytesWritten() - written;
    assertTrue(moved < 1.1 * BYTES, moved + " bytes");
  }

  @Test
  void aSecondOneDoesNothing() {
    files.fill(/* inOrder= */ false);
    store.compact();
    long written = store.stats().deviceBytesWritten();
    store.compact();
    assertEquals(written, store.stats().deviceBytesWritten());
  }

  @Test
  void onlyWhatWasWrittenSinceIsMoved() {
    files.fill(/* inOrder= */ false);
    store.compact();
    long once = files.rewritten();
    for (int i = 0; i < ENTRIES / 4; i++) {
      files.put(STEP * ((i * 7) % ENTRIES) + 1);
    }
    store.compact();
    long moved = files.rewritten() - once;
    assertTrue(moved >= SEGMENTS / 4 && moved <= SEGMENTS / 4 + 2, moved + " files");
  }

  @Test
  void newSegmentsAreNotEndedForLittle() {
    files.fill(/* inOrder= */ false);
    store.compact();
    long once = files.rewritten();
    files.put(STEP);
    store.compact();
    assertEquals(once, files.rewritten());
  }

  @Test
  void whatWasWrittenInOrderStaysWhereItIs() {
    files.fill(/* inOrder= */ true);
    store.compact();
    assertEquals(0, files.rewritten());
  }

  @Test
  void longValuesStayWhereTheyAre() {
    files.fill(/* inOrder= */ false, 40_000);
    store.compact();
    assertEquals(0, files.rewritten());
  }

  @Test
  void whatAReaderOfChangesMayStillWantStaysWhereItIs() {
    files.fill(/* inOrder= */ false);
    ChangeReader changes = store.changes().open(0);
    store.compact();
    assertEquals(0, files.rewritten());
    for (int i = 0; i < ENTRIES; i++) {
      assertNotNull(changes.poll(each -> each), "change " + i);
    }
    changes.close();
    store.compact();
    assertTrue(files.bytesAsWritten() < SEGMENT_BYTES, files.bytesAsWritten() + " bytes");
  }

  @Test
  void anOpenCursorReadsWhatItSaw() {
    files.fill(/* inOrder= */ false);
    try (SnapshotCursor cursor = files.cursor()) {
      assertTrue(cursor.next());
      store.compact();
      for (int i = 1; i < ENTRIES; i++) {
        assertTrue(cursor.next());
        assertNotNull(cursor.value());
      }
    }
    assertEquals(0, files.bytesAsWritten());
  }

  @Test
  void aFullDiskIsReportedAndTheCallMayBeRepeated() {
    files.fill(/* inOrder= */ false);
    files.storage.failAt(
        1,
        Fault.ENOSPC,
        /* sticky= */ true,
        (kind, name) -> kind == Operation.WRITE && name.endsWith(".vlog"));
    assertThrows(StorageException.class, store::compact);
    files.storage.clearFaults();
    files.requireAll();
    store.compact();
    assertEquals(0, files.bytesAsWritten());
  }
}
