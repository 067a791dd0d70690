package io.kvsep.internal.read;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.Collections;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * A snapshot that is closed after a read of it has begun: what it held is gone by the time there is
 * a view, and what is found in its place is older. No reader gets that.
 */
final class ReleasedHoldTest {
  private static final byte[] KEY = {1};
  private static final byte[] OLD = {3};
  private static final byte[] HELD = {5};

  private final StorageEngine engine =
      Engines.open(new CrashableStorage(), new ManualScheduler(1, 1));
  private final StoreReads reads = engine.reads();

  @AfterEach
  void everythingIsGivenBack() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private SnapshotLease holdWhatIsOverwritten() {
    engine.writes().put(0, KEY, OLD, 0);
    engine.flush();
    engine.writes().put(0, KEY, HELD, 0);
    SnapshotLease hold = reads.acquireSnapshot();
    engine.writes().put(0, KEY, new byte[] {10}, 0);
    return hold;
  }

  @Test
  void nothingIsReadInPlaceOfWhatWasHeld() {
    SnapshotLease hold = holdWhatIsOverwritten();
    assertArrayEquals(HELD, reads.get(0, KEY, hold));
    reads.releaseSnapshot(hold);
    // Drops what only the hold could see; the table of the first flush stays as it is.
    engine.flush();

    Bytes<?> target = Bytes.allocateElasticOnHeap();
    refused(() -> reads.get(0, BytesStore.wrap(KEY), target, hold));
    assertEquals(0, target.readRemaining());
    refused(() -> reads.read(0, KEY, hold, view -> shown()));
    refused(() -> reads.readWithInfo(0, KEY, hold, 9, (found, view) -> shown()));
    refused(() -> reads.get(0, KEY, hold));
    refused(() -> reads.contains(0, KEY, hold));
    refused(() -> reads.info(0, KEY, hold));
    refused(() -> reads.getAll(0, List.of(KEY), hold));
    refused(() -> reads.getAll(0, Collections.nCopies(MultiGet.GROUP_KEYS_MAX + 1, KEY), hold));
    refused(() -> reads.cursor(new ScanBounds(0, null, null, false, false, 9), hold));
  }

  @Test
  void aHoldIsReleasedOnce() {
    SnapshotLease first = reads.acquireSnapshot();
    SnapshotLease second = reads.acquireSnapshot();
    reads.releaseSnapshot(first);
    reads.releaseSnapshot(first);
    assertEquals(1, engine.stats().openSnapshots());
    assertEquals(0, second.heldSequence());
    reads.releaseSnapshot(second);
  }

  private static boolean shown() {
    throw new AssertionError("a value was shown");
  }

  private static void refused(Executable read) {
    assertThrows(StoreClosedException.class, read);
  }
}
