package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableMap;
import org.junit.jupiter.api.Test;

/**
 * An engine whose storage stops under it, so that every operation from some point on fails: only
 * the errors of the contract come out, the engine gives its memory and its files back, and what is
 * left holds what was promised. {@link CrashSweepTest} looks at far more workloads and states, but
 * from outside: its engines go on. A short run draws some of the points, see {@link Sample}.
 */
final class EngineCrashTest {
  /** Cases of a short run, of one test. */
  private static final int CASES = 50;

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

  /** What a store has in it before, so that there are tables and several segments. */
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

  /**
   * The storage stops at an operation, counted from 1, of a step, or of opening the n-th of the
   * states that a crash behind the step leaves.
   */
  private record Case(Variant variant, Step step, int state, int at, Operation operation) {}

  @Test
  void aStepWhoseStorageStopsBreaksNoPromise() {
    List<Case> cases = new ArrayList<>();
    for (Variant variant : Variant.values()) {
      for (Step step : STEPS) {
        TrackedEngine tracked = filled(variant);
        tracked.storage().clearTrace();
        assertTrue(tracked.run(step));
        addAll(cases, variant, step, /* state= */ 0, tracked.storage());
        tracked.abandon();
      }
    }
    run("aStepWhoseStorageStopsBreaksNoPromise", cases, EngineCrashTest::stopInAStep);
  }

  @Test
  void aRecoveryWhoseStorageStopsChangesNothing() {
    List<Case> cases = new ArrayList<>();
    for (Variant variant : Variant.values()) {
      for (Step step : STEPS) {
        TrackedEngine stopped = left(variant, step);
        List<CrashableStorage> states = states(stopped);
        for (int i = 0; i < states.size(); i++) {
          CrashableStorage state = states.get(i);
          TrackedEngine tracked = new TrackedEngine(state, variant, /* crashes= */ true);
          tracked.open();
          addAll(cases, variant, step, i, state);
          tracked.abandon();
        }
        stopped.abandon();
      }
    }
    run("aRecoveryWhoseStorageStopsChangesNothing", cases, EngineCrashTest::stopInARecovery);
  }

  private static void addAll(
      List<Case> cases, Variant variant, Step step, int state, CrashableStorage storage) {
    List<String> trace = storage.trace();
    for (int i = 0; i < trace.size(); i++) {
      cases.add(new Case(variant, step, state, i + 1, FaultSweep.operation(trace.get(i))));
    }
  }

  private interface Check {
    void of(Case one, Failures failures);
  }

  private static void run(String method, List<Case> cases, Check check) {
    Sample.of(cases)
        .meeting(Case::variant)
        .meeting(Case::operation)
        .meeting(Case::step)
        .run(
            EngineCrashTest.class,
            method,
            CASES,
            (some, seed) -> {
              Failures failures = new Failures();
              some.forEach(one -> check.of(one, failures));
              failures.report();
              assertTrue(failures.runCount() >= 2 * some.size(), "only " + failures.runCount());
            });
  }

  private static void stopInAStep(Case one, Failures failures) {
    TrackedEngine tracked = filled(one.variant());
    CrashableStorage storage = tracked.storage();
    failures.check(
        one.toString(),
        storage,
        () -> {
          storage.freezeAt(one.at());
          tracked.run(one.step());
        });
    for (CrashableStorage after : storage.crashStates(8, one.at())) {
      failures.check(one.toString(), storage, () -> tracked.checkRecovered(after));
    }
    tracked.abandon();
  }

  private static void stopInARecovery(Case one, Failures failures) {
    TrackedEngine tracked = left(one.variant(), one.step());
    List<CrashableStorage> states = states(tracked);
    NavigableMap<byte[], byte[]> expected = tracked.checkRecovered(states.get(one.state()));
    CrashableStorage recovering = states.get(one.state());
    recovering.freezeAt(one.at());
    TrackedEngine again = new TrackedEngine(recovering, one.variant(), /* crashes= */ true);
    try {
      again.open();
      again.abandon();
    } catch (KvException e) {
      failures.check(
          one.toString(), recovering, () -> assertEquals(List.of(), recovering.openFiles()));
    }
    again.settleOn(expected);
    for (CrashableStorage after : recovering.crashStates(4, one.at())) {
      failures.check(one.toString(), recovering, () -> again.checkRecovered(after));
    }
    failures.check(
        one + ", killed", recovering, () -> again.checkRecovered(recovering.crashKeepingAll()));
    tracked.abandon();
  }

  /** Makes an element anew each time, so that each recovery starts from the same one. */
  private static List<CrashableStorage> states(TrackedEngine tracked) {
    return tracked.storage().crashStates(8, 5);
  }

  private static TrackedEngine filled(Variant variant) {
    TrackedEngine tracked = new TrackedEngine(new CrashableStorage(), variant, /* crashes= */ true);
    tracked.open();
    FILLING.forEach(step -> assertTrue(tracked.run(step)));
    return tracked;
  }

  /** A store with something in its log, from which the process is about to be taken. */
  private static TrackedEngine left(Variant variant, Step last) {
    TrackedEngine tracked = filled(variant);
    for (Step step : List.of(Step.BATCH, Step.PUT_LARGE, last)) {
      assertTrue(tracked.run(step));
    }
    return tracked;
  }
}
