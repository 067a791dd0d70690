package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * A fixed workload in which one storage operation fails, for every operation and every way to fail:
 * once, or from there on until the end. Whatever happens, only the errors of the contract come out,
 * reads give what was acknowledged, nothing synced is lost, nothing refused comes back, and no byte
 * or file stays behind. A short run draws some of these operations and ways, see {@link Sample}.
 */
final class EngineFaultTest {
  /** Cases of a short run, of one test. */
  private static final int CASES = 40;

  private static final List<Step> WORKLOAD =
      List.of(
          Step.PUT,
          Step.PUT_SYNCED,
          Step.BATCH,
          Step.FLUSH,
          Step.PUT_LARGE,
          Step.PUT_LARGE,
          Step.DELETE,
          Step.SYNC,
          Step.BATCH,
          Step.PUT_LARGE,
          Step.BACKGROUND,
          Step.FLUSH,
          Step.COMPACT,
          Step.BATCH_SYNCED,
          Step.RECLAIM,
          Step.PUT);

  /** What a workload still does once the device works again. */
  private static final List<Step> AFTERWARDS =
      List.of(Step.BACKGROUND, Step.PUT, Step.PUT_LARGE, Step.BATCH_SYNCED, Step.FLUSH, Step.PUT);

  /** Operations that change something; a device that refuses these can still be read. */
  private static final Set<Operation> CHANGES =
      EnumSet.of(
          Operation.CREATE,
          Operation.WRITE,
          Operation.SYNC,
          Operation.TRUNCATE,
          Operation.RENAME,
          Operation.DELETE,
          Operation.SYNC_DIRECTORY);

  /**
   * An operation of the workload; the step is its index, opening comes before and closing behind.
   */
  private record Call(Operation operation, int step) {}

  /** The n-th call fails; where that lasts, only those that change something are counted. */
  private record Case(Variant variant, Fault fault, boolean lasts, int at, Call call) {}

  @Test
  void oneFailingOperationBreaksNoPromise() {
    run("oneFailingOperationBreaksNoPromise", /* lasts= */ false);
  }

  @Test
  void aDeviceThatRefusesChangesForAWhileBreaksNoPromise() {
    run("aDeviceThatRefusesChangesForAWhileBreaksNoPromise", /* lasts= */ true);
  }

  private static void run(String method, boolean lasts) {
    Sample.of(cases(lasts))
        .meeting(Case::variant)
        .meeting(one -> List.of(one.fault(), one.call().operation()))
        .meeting(one -> one.call().step())
        .run(
            EngineFaultTest.class,
            method,
            CASES,
            (cases, seed) -> {
              Failures failures = new Failures();
              for (Case one : cases) {
                CrashableStorage storage = new CrashableStorage();
                failures.check(one.toString(), storage, () -> runOne(storage, one));
              }
              failures.report();
            });
  }

  private static List<Case> cases(boolean lasts) {
    List<Case> cases = new ArrayList<>();
    for (Variant variant : List.of(Variant.SEPARATED, Variant.INLINE)) {
      List<Call> calls = calls(variant);
      calls.removeIf(call -> lasts && !CHANGES.contains(call.operation()));
      for (int i = 0; i < calls.size(); i++) {
        for (Fault fault : EnumSet.complementOf(EnumSet.of(Fault.EARLY_EOF))) {
          if (lasts || FaultSweep.can(calls.get(i).operation(), fault)) {
            cases.add(new Case(variant, fault, lasts, i + 1, calls.get(i)));
          }
        }
      }
    }
    return cases;
  }

  /** What the workload does to the storage when nothing fails. */
  private static List<Call> calls(Variant variant) {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    List<Integer> ends = new ArrayList<>();
    tracked.open();
    ends.add(storage.trace().size());
    for (Step step : WORKLOAD) {
      assertTrue(tracked.run(step));
      tracked.checkReads();
      ends.add(storage.trace().size());
    }
    assertTrue(tracked.close());
    List<Call> calls = new ArrayList<>();
    for (String line : storage.trace()) {
      int index = calls.size();
      long step = ends.stream().filter(end -> end <= index).count() - 1;
      calls.add(new Call(FaultSweep.operation(line), (int) step));
    }
    return calls;
  }

  private static void runOne(CrashableStorage storage, Case one) {
    boolean lasts = one.lasts();
    if (lasts) {
      storage.failAt(one.at(), one.fault(), /* sticky= */ true, CHANGES::contains);
    } else {
      storage.failAt(one.at(), one.fault(), /* sticky= */ false);
    }
    TrackedEngine tracked = new TrackedEngine(storage, one.variant(), /* crashes= */ false);
    if (one.fault() == Fault.LATE_EIO && lasts) {
      tracked.failsLate();
    }
    try {
      tracked.open();
    } catch (KvException e) {
      assertEquals(List.of(), storage.openFiles(), "open files after a failed open");
      storage.clearFaults();
      tracked.checkRecovered(storage.crashKeepingAll());
      return;
    }
    for (Step step : WORKLOAD) {
      tracked.run(step);
      checkReads(tracked, lasts);
    }
    storage.clearFaults();
    tracked.run(Step.BACKGROUND);
    if (!tracked.hasFailed()) {
      for (Step step : AFTERWARDS) {
        boolean succeeded = tracked.run(step);
        assertTrue(succeeded || tracked.hasFailed(), step + " after the device works again");
      }
    }
    checkReads(tracked, lasts);
    checkCrashes(tracked, storage.moment());
    boolean closed = tracked.close();
    assertTrue(closed || tracked.hasFailed(), "close after the device works again");
    checkCrashes(tracked, storage);
  }

  private static void checkCrashes(TrackedEngine tracked, CrashableStorage storage) {
    for (CrashableStorage after : storage.crashStates(3, 1)) {
      tracked.checkRecovered(after);
    }
    tracked.checkRecovered(storage.crashKeepingAll());
  }

  /** One read may meet the one fault; the next one must not. */
  private static void checkReads(TrackedEngine tracked, boolean lasts) {
    try {
      tracked.checkReads();
    } catch (KvException e) {
      if (lasts) {
        throw e;
      }
      tracked.checkReads();
    }
  }
}
