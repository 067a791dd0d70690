package io.kvsep.internal.write;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.KvException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.engine.Failures;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.internal.engine.TrackedKeyspaces;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * Keyspaces are made, filled and dropped while the power fails, an operation fails or the disk runs
 * full at each storage operation. Afterwards each one is whole, empty if its dropping had begun, or
 * gone; nothing stands under an id without a name, and no id is given out twice.
 */
final class KeyspaceFaultTest {
  /** Cases of a short run, of one test. */
  private static final int CASES = 20;

  private static final int ROOM_STEP = 23;

  private interface Step {
    boolean succeeds(TrackedKeyspaces tracked);
  }

  private static final List<Step> WORKLOAD =
      List.of(
          tracked -> tracked.make("a"),
          tracked -> tracked.put("a"),
          tracked -> tracked.make("b"),
          tracked -> tracked.put("b"),
          tracked -> tracked.put("a"),
          tracked -> tracked.flush(/* compacts= */ false),
          tracked -> tracked.put("a"),
          tracked -> tracked.drop("a"),
          tracked -> tracked.put("b"),
          tracked -> tracked.make("a"),
          tracked -> tracked.put("a"),
          tracked -> tracked.drop("b"),
          tracked -> tracked.flush(/* compacts= */ true),
          tracked -> tracked.put("a"),
          tracked -> tracked.drop("a"));

  /** More of the same once the device works again. */
  private static final List<String> AFTERWARDS = List.of("a", "b", "c");

  @ParameterizedTest
  @EnumSource(Variant.class)
  void aCrashAnywhereLeavesEachWholeEmptyOrGone(Variant variant) {
    sweep(
        "aCrashAnywhereLeavesEachWholeEmptyOrGone",
        Sample.ofRange(1, operations(variant), CASES / 2),
        (failures, at) -> crash(failures, variant, at));
  }

  private static void crash(Failures failures, Variant variant, int at) {
    CrashableStorage storage = new CrashableStorage();
    storage.freezeAt(at);
    TrackedKeyspaces tracked = new TrackedKeyspaces(variant);
    if (!opened(tracked, storage)) {
      return;
    }
    for (Step step : WORKLOAD) {
      if (!step.succeeds(tracked)) {
        break;
      }
    }
    checkCrashes(failures, tracked, storage, variant + ", crash at " + at, 6);
    tracked.abandon();
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = Mode.EXCLUDE, names = "EARLY_EOF")
  void aFailingOperationLeavesEachWholeEmptyOrGone(Fault fault) {
    Sample<Integer> operations = Sample.ofRange(1, operations(Variant.SEPARATED), CASES / 2);
    sweep(
        "aFailingOperationLeavesEachWholeEmptyOrGone",
        operations,
        (failures, at) -> {
          for (boolean sticky : new boolean[] {false, true}) {
            String what = fault + " at " + at + (sticky ? " and on" : "");
            run(failures, what, storage -> storage.failAt(at, fault, sticky));
          }
        });
  }

  @Test
  void aFullDiskLeavesEachWholeEmptyOrGone() {
    sweep(
        "aFullDiskLeavesEachWholeEmptyOrGone",
        Sample.ofRange(0, 8_900 / ROOM_STEP, CASES / 2),
        (failures, number) -> {
          int room = 100 + ROOM_STEP * number;
          run(failures, "room for " + room, storage -> storage.capacityBytes(room));
        });
  }

  private static void sweep(
      String method, Sample<Integer> sample, BiConsumer<Failures, Integer> test) {
    sample.run(
        KeyspaceFaultTest.class,
        method,
        CASES,
        (cases, seed) -> {
          Failures failures = new Failures();
          cases.forEach(one -> test.accept(failures, one));
          failures.report();
          assertTrue(failures.runCount() >= cases.size(), "only " + failures.runCount() + " runs");
        });
  }

  /** The manifest may lack the name already: what is written then would belong to no keyspace. */
  @Test
  void aDropThatEndedHalfWayLeavesNothingOpenHoweverTheNextOneFails() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      int id = engine.keyspaces().open("a");
      byte[] key = {1};
      engine.writes().put(id, key, key, 0);
      for (String failing : List.of("MANIFEST", "")) {
        storage.failAt(
            1,
            Fault.EIO,
            /* sticky= */ true,
            (operation, name) -> operation == Operation.WRITE && name.startsWith(failing));
        assertThrows(StorageException.class, () -> engine.keyspaces().drop(id));
        storage.clearFaults();
        assertThrows(IllegalStateException.class, () -> engine.writes().put(id, key, key, 0));
      }
      engine.keyspaces().drop(id);
      assertEquals(List.of(), engine.keyspaces().names());
      assertNull(engine.reads().get(id, key, StoreReads.LATEST));
    }
  }

  /** A log without the delete, which was synced, is damaged and no torn tail. */
  @Test
  void aDropThatEndsInAnOpenSaysHowFarTheLogWasSynced() throws IOException {
    CrashableStorage storage = new CrashableStorage();
    String log = StoreFiles.segment(1);
    CrashableStorage crashed;
    int before;
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      int id = engine.keyspaces().open("a");
      engine.writes().put(id, new byte[] {1}, new byte[] {2}, 0);
      engine.sync();
      before = storage.contents(log).length;
      storage.failAt(
          1,
          Fault.EIO,
          false,
          (operation, name) ->
              operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.MANIFEST);
      assertThrows(StorageException.class, () -> engine.keyspaces().drop(id));
      storage.clearFaults();
      assertTrue(engine.keyspaces().open("a") > id);
      crashed = storage.moment().crashKeepingAll();
    }
    crashed.replace(log, Arrays.copyOf(crashed.contents(log), before));
    assertThrows(CorruptionException.class, () -> Engines.open(crashed, new ManualScheduler(1, 1)));
  }

  /** The workload on a device that does not do everything, and then on one that does. */
  private static void run(Failures failures, String what, Consumer<CrashableStorage> fault) {
    for (boolean recovers : new boolean[] {true, false}) {
      CrashableStorage storage = new CrashableStorage();
      fault.accept(storage);
      TrackedKeyspaces tracked = new TrackedKeyspaces(Variant.SEPARATED);
      if (!opened(tracked, storage)) {
        continue;
      }
      failures.check(
          what,
          storage,
          () -> {
            WORKLOAD.forEach(step -> step.succeeds(tracked));
            if (recovers) {
              goOn(tracked, storage);
            }
          });
      storage.clearFaults();
      storage.capacityBytes(Long.MAX_VALUE);
      checkCrashes(failures, tracked, storage, what, 3);
      tracked.abandon();
    }
  }

  private static void goOn(TrackedKeyspaces tracked, CrashableStorage storage) {
    storage.clearFaults();
    storage.capacityBytes(Long.MAX_VALUE);
    for (String name : AFTERWARDS) {
      boolean works = tracked.make(name) && tracked.put(name);
      assertTrue(works || tracked.hasFailed(), () -> "keyspace " + name + " cannot be used");
    }
    boolean works = tracked.drop("a") && tracked.make("a") && tracked.put("a");
    assertTrue(works || tracked.hasFailed(), "a keyspace cannot be dropped and made again");
  }

  private static void checkCrashes(
      Failures failures,
      TrackedKeyspaces tracked,
      CrashableStorage storage,
      String what,
      int statesMax) {
    List<CrashableStorage> states = storage.crashStates(statesMax, 9);
    for (int i = 0; i < states.size(); i++) {
      CrashableStorage after = states.get(i);
      failures.check(what + ", state " + i, storage, () -> tracked.checkRecovered(after));
    }
    failures.check(
        what + ", killed", storage, () -> tracked.checkRecovered(storage.crashKeepingAll()));
  }

  /** False when not even the opening succeeds, which other tests look at. */
  private static boolean opened(TrackedKeyspaces tracked, CrashableStorage storage) {
    try {
      tracked.open(storage);
      return true;
    } catch (KvException e) {
      return false;
    }
  }

  private static int operations(Variant variant) {
    CrashableStorage storage = new CrashableStorage();
    TrackedKeyspaces tracked = new TrackedKeyspaces(variant);
    tracked.open(storage);
    WORKLOAD.forEach(step -> assertTrue(step.succeeds(tracked)));
    int operations = (int) storage.operationCount();
    tracked.abandon();
    return operations;
  }
}
