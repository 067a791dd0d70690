package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.util.List;
import java.util.function.Predicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;

/**
 * A sync that failed once: from then on every write gives the first cause, however the device
 * behaves, reads go on, and opening the store again finds what really was synced.
 */
final class FailedSyncTest {
  private static final List<Step> FILLING =
      List.of(Step.PUT, Step.PUT_LARGE, Step.FLUSH, Step.BATCH, Step.SYNC, Step.PUT);

  @Test
  void aFailedSyncOfTheLogFailsTheStore() {
    for (Step step : List.of(Step.PUT_SYNCED, Step.BATCH_SYNCED, Step.SYNC, Step.FLUSH)) {
      failsTheStore(StoreFiles.Kind.SEGMENT, step);
    }
  }

  @Test
  void aFailedSyncOfTheManifestFailsTheStore() {
    // Each needs an edit: a flush, a compaction, or the two values that need another segment.
    failsTheStore(StoreFiles.Kind.MANIFEST, Step.FLUSH);
    failsTheStore(StoreFiles.Kind.MANIFEST, Step.COMPACT);
    failsTheStore(StoreFiles.Kind.MANIFEST, Step.PUT_LARGE);
  }

  @Test
  void aFailedSyncInTheBackgroundFailsTheStore() {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = filled(storage);
    failNextSync(storage, kind -> kind == StoreFiles.Kind.SEGMENT);
    // More than a memtable takes: the flush in the background has to sync the log.
    boolean failed = false;
    for (int i = 0; i < 200 && !failed; i++) {
      tracked.run(Step.PUT_LARGE);
      tracked.run(Step.BACKGROUND);
      failed = tracked.hasFailed();
    }
    assertTrue(failed, "no write learned of the failed sync");
    refusesWritesAndReads(tracked, storage);
  }

  /** A table that cannot be made durable is given up and written again: no caller sees that. */
  @Test
  void aFailedSyncOfATableIsOnlyAFailedFlush() {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = filled(storage);
    failNextSync(storage, kind -> kind == StoreFiles.Kind.TABLE);
    assertFalse(tracked.run(Step.FLUSH));
    assertFalse(tracked.hasFailed());
    assertTrue(tracked.run(Step.PUT_SYNCED));
    assertTrue(tracked.run(Step.FLUSH));
    tracked.checkReads();
    assertTrue(tracked.close());
    tracked.checkRecovered(storage.crashSyncedOnly());
  }

  private static void failsTheStore(StoreFiles.Kind kind, Step step) {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = filled(storage);
    failNextSync(storage, found -> found == kind);
    boolean succeeded = tracked.run(step);
    if (step == Step.PUT_LARGE && succeeded) {
      succeeded = tracked.run(step);
    }
    assertFalse(succeeded, () -> step + " with a failed sync of the " + kind);
    assertTrue(tracked.hasFailed(), () -> step + " has to fail the store");
    backsUpWhatIsDurable(tracked.engine(), kind);
    refusesWritesAndReads(tracked, storage);
  }

  /** It reads, but has to sync the log for that. */
  private static void backsUpWhatIsDurable(StorageEngine engine, StoreFiles.Kind failed) {
    ByteArrayOutputStream output = new ByteArrayOutputStream();
    if (failed == StoreFiles.Kind.SEGMENT) {
      assertThrows(StoreFailedException.class, () -> engine.backups().backup(output, 0));
      return;
    }
    assertEquals(engine.reads().visibleSequence(), engine.backups().backup(output, 0));
    try (StorageEngine copy = Engines.open(new CrashableStorage(), new ManualScheduler(1, 1))) {
      copy.backups().restore(new ByteArrayInputStream(output.toByteArray()));
      byte[] key = TrackedEngine.key(1);
      assertArrayEquals(
          engine.reads().get(0, key, StoreReads.LATEST),
          copy.reads().get(0, key, StoreReads.LATEST));
    }
  }

  private static void refusesWritesAndReads(TrackedEngine tracked, CrashableStorage storage) {
    StorageEngine engine = tracked.engine();
    Throwable first = null;
    byte[] key = TrackedEngine.key(1);
    List<Executable> writes =
        List.of(
            () -> engine.writes().put(0, key, new byte[1], 0),
            () -> engine.writes().delete(0, key),
            () -> engine.writes().compareAndSet(0, new byte[] {9}, null, new byte[1]),
            engine::sync,
            engine::flush,
            engine::compact);
    for (int round = 0; round < 2; round++) {
      for (Executable write : writes) {
        StoreFailedException error = assertThrows(StoreFailedException.class, write);
        assertNotNull(error.getCause());
        first = first == null ? error.getCause() : first;
        assertSame(first, error.getCause(), "the first cause");
      }
      tracked.checkReads();
      tracked.run(Step.BACKGROUND);
    }
    tracked.close();
    for (CrashableStorage after : storage.crashStates(20)) {
      tracked.checkRecovered(after);
    }
    tracked.checkRecovered(storage.crashKeepingAll());
  }

  private static TrackedEngine filled(CrashableStorage storage) {
    TrackedEngine tracked = new TrackedEngine(storage, Variant.SEPARATED, /* crashes= */ false);
    tracked.open();
    for (Step step : FILLING) {
      assertTrue(tracked.run(step));
    }
    assertEquals(List.of(), storage.trace().stream().filter(l -> l.contains("!")).toList());
    return tracked;
  }

  private static void failNextSync(CrashableStorage storage, Predicate<StoreFiles.Kind> kind) {
    storage.failAt(
        1,
        Fault.SYNC_FAILS,
        /* sticky= */ false,
        (operation, name) -> operation == Operation.SYNC && kind.test(StoreFiles.kindOf(name)));
  }
}
