package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import java.util.Random;
import org.junit.jupiter.api.Test;

/**
 * Workloads of up to three steps, each stopped by a power failure at each of its storage
 * operations, in many of the states that may leave. Every one of them has to open, to hold a prefix
 * of the commit order with everything synced in it and no half batch, and to go on working.
 */
final class EngineCrashTest {
  private static final List<Step> STEPS =
      List.of(
          Step.PUT,
          Step.PUT_LARGE,
          Step.BATCH,
          Step.BATCH_SYNCED,
          Step.DELETE,
          Step.DELETE_RANGE,
          Step.SYNC,
          Step.FLUSH,
          Step.COMPACT,
          Step.RECLAIM);

  /** What a store has in it before the workload, so that there are tables and several segments. */
  private static final List<Step> FILLING =
      List.of(
          Step.BATCH,
          Step.PUT_LARGE,
          Step.FLUSH,
          Step.PUT_LARGE,
          Step.BATCH,
          Step.FLUSH,
          Step.COMPACT,
          Step.PUT_LARGE,
          Step.RECLAIM,
          Step.DELETE_RANGE,
          Step.FLUSH,
          Step.DELETE,
          Step.PUT);

  @Test
  void everyWorkloadOfThreeStepsSurvivesEveryCrash() {
    Failures failures = new Failures();
    for (Step first : STEPS) {
      for (Step second : STEPS) {
        for (Step third : STEPS) {
          List<Step> workload = List.of(first, second, third);
          crashEverywhere(failures, Variant.SEPARATED, List.of(), workload, 6);
        }
      }
    }
    report(failures, 8_000);
  }

  @Test
  void everyLastStepOfAFilledStoreSurvivesEveryCrash() {
    Failures failures = new Failures();
    for (Variant variant : Variant.values()) {
      for (Step step : STEPS) {
        crashEverywhere(failures, variant, FILLING, List.of(step), 24);
      }
    }
    report(failures, 1_000);
  }

  @Test
  void drawnWorkloadsOfFilledStoresSurviveEveryCrash() {
    Seeds.run(
        EngineCrashTest.class,
        "drawnWorkloadsOfFilledStoresSurviveEveryCrash",
        1,
        Integer.getInteger("kvsep.seeds", 80),
        seed -> {
          Failures failures = new Failures();
          Random random = new Random(seed);
          List<Step> workload = new ArrayList<>();
          for (int i = 0; i < 3; i++) {
            workload.add(STEPS.get(random.nextInt(STEPS.size())));
          }
          Variant variant = Variant.values()[random.nextInt(Variant.values().length)];
          crashEverywhere(failures, variant, FILLING, workload, 8);
          failures.report();
        });
  }

  @Test
  void aCrashWhileAStoreIsMadeLeavesNoneOrAnEmptyOne() {
    Failures failures = new Failures();
    for (long n = 1; n <= operationsOfOpening(new CrashableStorage()); n++) {
      CrashableStorage storage = new CrashableStorage();
      storage.freezeAt(n);
      TrackedEngine tracked = new TrackedEngine(storage, Variant.SEPARATED, /* crashes= */ true);
      try {
        tracked.open();
        tracked.abandon();
      } catch (KvException e) {
        assertEquals(List.of(), storage.openFiles());
      }
      for (CrashableStorage after : storage.crashStates(200)) {
        failures.check("making at " + n, after, () -> tracked.checkRecovered(after));
      }
    }
    report(failures, 20);
  }

  /** The recovery of a recovery: stopped at each operation, it changes nothing of its outcome. */
  @Test
  void aCrashWhileRecoveringChangesNothing() {
    Failures failures = new Failures();
    for (Variant variant : Variant.values()) {
      for (Step last :
          List.of(
              Step.PUT_LARGE,
              Step.BATCH_SYNCED,
              Step.DELETE_RANGE,
              Step.FLUSH,
              Step.COMPACT,
              Step.RECLAIM)) {
        TrackedEngine tracked = filled(variant, FILLING);
        tracked.run(Step.BATCH);
        tracked.run(Step.PUT_LARGE);
        tracked.run(last);
        CrashableStorage storage = tracked.storage();
        List<CrashableStorage> states = storage.crashStates(8, 5);
        for (int i = 0; i < states.size(); i++) {
          crashInRecovery(failures, tracked, states, i, variant + ", " + last + ", state " + i);
        }
        tracked.abandon();
      }
    }
    report(failures, 3_000);
  }

  /** {@code states} makes an element anew each time, so each recovery starts from the same one. */
  private static void crashInRecovery(
      Failures failures,
      TrackedEngine tracked,
      List<CrashableStorage> states,
      int index,
      String what) {
    NavigableMap<byte[], byte[]> expected = tracked.checkRecovered(states.get(index));
    long operations = operationsOfOpening(states.get(index));
    for (long n = 1; n <= operations; n++) {
      CrashableStorage recovering = states.get(index);
      recovering.freezeAt(n);
      TrackedEngine again = new TrackedEngine(recovering, Variant.SEPARATED, /* crashes= */ true);
      try {
        again.open();
        again.abandon();
      } catch (KvException e) {
        assertEquals(List.of(), recovering.openFiles());
      }
      again.settleOn(expected);
      for (CrashableStorage after : recovering.crashStates(4, n)) {
        failures.check(
            what + ", recovery stopped at " + n, recovering, () -> again.checkRecovered(after));
      }
      failures.check(
          what + ", recovery killed at " + n,
          recovering,
          () -> again.checkRecovered(recovering.crashKeepingAll()));
    }
  }

  private static void crashEverywhere(
      Failures failures,
      Variant variant,
      List<Step> filling,
      List<Step> workload,
      int statesPerOperation) {
    boolean stopped = true;
    for (long n = 1; stopped; n++) {
      TrackedEngine tracked = filled(variant, filling);
      CrashableStorage storage = tracked.storage();
      storage.freezeAt(n);
      stopped = false;
      for (Step step : workload) {
        tracked.run(step);
        stopped = tracked.isStopped();
        if (stopped) {
          break;
        }
      }
      String what = variant + ", " + workload + (filling.isEmpty() ? "" : " after filling, at ");
      List<CrashableStorage> states = storage.crashStates(statesPerOperation, n);
      for (int i = 0; i < states.size(); i++) {
        CrashableStorage after = states.get(i);
        failures.check(what + n + ", state " + i, storage, () -> tracked.checkRecovered(after));
      }
      tracked.abandon();
    }
  }

  private static TrackedEngine filled(Variant variant, List<Step> filling) {
    TrackedEngine tracked = new TrackedEngine(new CrashableStorage(), variant, /* crashes= */ true);
    tracked.open();
    for (Step step : filling) {
      assertTrue(tracked.run(step));
    }
    return tracked;
  }

  private static long operationsOfOpening(CrashableStorage storage) {
    TrackedEngine tracked = new TrackedEngine(storage, Variant.SEPARATED, /* crashes= */ true);
    tracked.open();
    long count = storage.operationCount();
    tracked.abandon();
    return count;
  }

  /** A sweep that no longer reaches its states would pass as well. */
  private static void report(Failures failures, int runsMin) {
    failures.report();
    assertTrue(failures.runCount() >= runsMin, "only " + failures.runCount() + " states");
  }
}
