package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * A disk that is full: writes fail and have not happened, reads go on, and once there is space
 * everything continues. Wherever the space ends: in the middle of a frame, at a new segment, in a
 * flush, a compaction or the manifest.
 */
final class FullDiskTest {
  private static final List<Step> FILLING =
      List.of(
          Step.PUT,
          Step.BATCH_SYNCED,
          Step.FLUSH,
          Step.PUT_LARGE,
          Step.PUT_LARGE,
          Step.DELETE,
          Step.BATCH,
          Step.FLUSH,
          Step.PUT);

  /** All that may need space; more than one try each. */
  private static final List<Step> ATTEMPTS =
      List.of(
          Step.PUT,
          Step.PUT_LARGE,
          Step.BATCH,
          Step.PUT_SYNCED,
          Step.FLUSH,
          Step.PUT,
          Step.COMPACT,
          Step.BACKGROUND,
          Step.PUT_LARGE,
          Step.DELETE,
          Step.SYNC);

  /** Room left, from none to enough for everything, in steps that meet every kind of write. */
  private static final int ROOM_MAX = 12_000;

  private static final int ROOM_STEP = 61;

  /** Rooms of a short run, and stretches up to the largest that each of them meets. */
  private static final int ROOMS = 60;

  private static final int STRETCHES = 24;

  /** Values of a KiB in the log: more than {@link #ROOM_MAX}, and less than a segment. */
  private static final int LOGGED = 15;

  private static final String COPY = StoreFiles.temporary(StoreFiles.segment(1));

  /** How much room is left, and whether the store is closed at the end or crashed. */
  private record Case(int room, boolean closes) {
    int stretch() {
      return room * STRETCHES / (ROOM_MAX + 1);
    }
  }

  @ParameterizedTest
  @EnumSource(Variant.class)
  void writesFailAloneReadsGoOnAndAllGoesOnWithSpace(Variant variant) {
    List<Case> all = new ArrayList<>();
    for (int room = 0; room <= ROOM_MAX; room += room < 200 ? 7 : ROOM_STEP) {
      all.add(new Case(room, /* closes= */ true));
      all.add(new Case(room, /* closes= */ false));
    }
    Sample.of(all)
        .meeting(Case::closes)
        .meeting(Case::stretch)
        .run(
            FullDiskTest.class,
            "writesFailAloneReadsGoOnAndAllGoesOnWithSpace",
            ROOMS,
            (cases, seed) -> {
              Failures failures = new Failures();
              int[] refused = new int[1];
              for (Case one : cases) {
                CrashableStorage storage = new CrashableStorage();
                failures.check(
                    variant + ", " + one,
                    storage,
                    () -> refused[0] += run(storage, variant, one.room(), one.closes()));
              }
              failures.report();
              assertTrue(refused[0] > 20, "the disk was hardly ever full: " + refused[0]);
            });
  }

  private static int run(CrashableStorage storage, Variant variant, int room, boolean closes) {
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    tracked.open();
    for (Step step : FILLING) {
      assertTrue(tracked.run(step));
    }
    storage.capacityBytes(storage.usedBytes() + room);
    int refused = 0;
    for (Step step : ATTEMPTS) {
      refused += tracked.run(step) ? 0 : 1;
      tracked.checkReads();
    }
    assertFalse(tracked.hasFailed(), "a full disk is no failure of the store");
    storage.capacityBytes(Long.MAX_VALUE);
    tracked.run(Step.BACKGROUND);
    for (Step step : ATTEMPTS) {
      assertTrue(tracked.run(step), () -> step + " with space again");
      tracked.checkReads();
    }
    if (closes) {
      assertTrue(tracked.close());
      tracked.checkRecovered(storage.crashSyncedOnly());
    } else {
      assertTrue(tracked.run(Step.PUT));
      for (CrashableStorage after : storage.crashStates(2, room)) {
        tracked.checkRecovered(after);
      }
      tracked.checkRecovered(storage.crashKeepingAll());
      tracked.abandon();
    }
    return refused;
  }

  /** Closing on a full disk may fail, but loses nothing that was acknowledged. */
  @ParameterizedTest
  @EnumSource(Variant.class)
  void closingOnAFullDiskLosesNothing(Variant variant) {
    Failures failures = new Failures();
    for (int room = 0; room <= 2_000; room += 31) {
      CrashableStorage storage = new CrashableStorage();
      int roomLeft = room;
      failures.check(
          variant + ", room for " + room,
          storage,
          () -> {
            TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
            tracked.open();
            FILLING.forEach(tracked::run);
            storage.capacityBytes(storage.usedBytes() + roomLeft);
            tracked.run(Step.PUT_LARGE);
            tracked.run(Step.BATCH);
            tracked.close();
            // The process ends, the machine goes on: all that was acknowledged is there.
            CrashableStorage later = storage.crashKeepingAll();
            later.capacityBytes(Long.MAX_VALUE);
            assertEquals(
                TrackedEngine.text(tracked.current()),
                TrackedEngine.text(tracked.checkRecovered(later)));
          });
    }
    failures.report();
  }

  /** What is replayed is copied first: where there is no room for that, the copy takes none. */
  @Test
  void anOpenWithoutRoomForItsCopiesLeavesNone() throws IOException {
    CrashableStorage left = killed();
    int refused = 0;
    for (int room = 0; room <= ROOM_MAX; room += ROOM_STEP) {
      CrashableStorage full = left.moment();
      full.capacityBytes(full.usedBytes() + room);
      boolean opened = openError(full) == null;
      refused += !opened && full.trace().contains("create " + COPY) ? 1 : 0;
      CrashableStorage later = full.moment();
      assertFalse(later.list().contains(COPY), "room for " + room);
      later.capacityBytes(Long.MAX_VALUE);
      assertNull(openError(later), "with space again");
    }
    assertTrue(refused > 50, "the copy hardly ever lacked room: " + refused);
  }

  @Test
  void aCopyThatCannotBeDeletedHidesNoError() throws IOException {
    CrashableStorage full = killed();
    full.capacityBytes(full.usedBytes() + ROOM_MAX / 2);
    full.failAt(
        1,
        Fault.EIO,
        /* sticky= */ true,
        (operation, name) -> operation == Operation.DELETE && name.equals(COPY));
    StorageException error = openError(full);
    assertNotNull(error);
    assertTrue(String.valueOf(error.getMessage()).contains("No space left"), error::toString);
    CrashableStorage later = full.moment();
    assertTrue(later.list().contains(COPY));
    later.capacityBytes(Long.MAX_VALUE);
    assertNull(openError(later), "with space again");
    assertFalse(later.moment().list().contains(COPY));
  }

  /** A store with nothing but a file of the log that is longer than the room left. */
  private static CrashableStorage killed() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      for (int i = 0; i < LOGGED; i++) {
        engine.writes().put(0, new byte[] {(byte) i}, value(i), 0);
      }
      return storage.moment();
    }
  }

  /** Why the store does not open; null when it does, with all that is in it. */
  private static @Nullable StorageException openError(CrashableStorage disk) {
    StorageEngine engine;
    try {
      engine = Engines.open(disk, new ManualScheduler(1, 1));
    } catch (StorageException e) {
      return e;
    }
    for (int i = 0; i < LOGGED; i++) {
      byte[] found = engine.reads().get(0, new byte[] {(byte) i}, StoreReads.LATEST);
      assertArrayEquals(value(i), found);
    }
    try {
      engine.close();
    } catch (StorageException e) {
      // It needs room for a table, and loses nothing without.
      assertEquals(0, engine.memoryBytes());
    }
    return null;
  }

  private static byte[] value(int number) {
    byte[] value = new byte[1_000];
    new Random(number).nextBytes(value);
    return value;
  }
}
