package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.internal.engine.TrackedEngine.Step;
import io.kvsep.internal.engine.TrackedEngine.Variant;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * A fixed workload in which one storage operation fails, for every operation and every way to fail:
 * once, or from there on until the end. Whatever happens, only the errors of the contract come out,
 * reads give what was acknowledged, nothing synced is lost, nothing refused comes back, and no byte
 * or file stays behind.
 */
final class EngineFaultTest {
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

  private enum Ending {
    CLOSE,
    CRASH
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = Mode.EXCLUDE, names = "EARLY_EOF")
  void oneFailingOperationBreaksNoPromise(Fault fault) {
    run(fault, /* sticky= */ false);
  }

  @ParameterizedTest
  @EnumSource(value = Fault.class, mode = Mode.EXCLUDE, names = "EARLY_EOF")
  void aDeviceThatRefusesChangesForAWhileBreaksNoPromise(Fault fault) {
    run(fault, /* sticky= */ true);
  }

  private static void run(Fault fault, boolean sticky) {
    Failures failures = new Failures();
    for (Variant variant : List.of(Variant.SEPARATED, Variant.INLINE)) {
      for (Ending ending : Ending.values()) {
        long count = operationCount(variant, sticky);
        for (long n = 1; n <= count; n++) {
          CrashableStorage storage = new CrashableStorage();
          if (sticky) {
            storage.failAt(n, fault, true, CHANGES::contains);
          } else {
            storage.failAt(n, fault, false);
          }
          String what = variant + ", " + fault + " at " + n + (sticky ? " on, " : ", ") + ending;
          failures.check(what, storage, () -> runOne(storage, variant, fault, sticky, ending));
        }
      }
    }
    failures.report();
  }

  /** Operations of the workload, or those among them that change something, which are fewer. */
  private static long operationCount(Variant variant, boolean sticky) {
    CrashableStorage storage = new CrashableStorage();
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    tracked.open();
    for (Step step : WORKLOAD) {
      assertTrue(tracked.run(step));
      tracked.checkReads();
    }
    assertTrue(tracked.close());
    if (!sticky) {
      return storage.operationCount();
    }
    return storage.trace().stream()
        .map(line -> line.split(" ", 2)[0].toUpperCase(Locale.ROOT).replace('-', '_'))
        .filter(word -> CHANGES.contains(Operation.valueOf(word)))
        .count();
  }

  private static void runOne(
      CrashableStorage storage, Variant variant, Fault fault, boolean sticky, Ending ending) {
    TrackedEngine tracked = new TrackedEngine(storage, variant, /* crashes= */ false);
    if (fault == Fault.LATE_EIO && sticky) {
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
      checkReads(tracked, sticky);
    }
    storage.clearFaults();
    tracked.run(Step.BACKGROUND);
    if (!tracked.hasFailed()) {
      for (Step step : AFTERWARDS) {
        boolean succeeded = tracked.run(step);
        assertTrue(succeeded || tracked.hasFailed(), step + " after the device works again");
      }
    }
    checkReads(tracked, sticky);
    if (ending == Ending.CLOSE) {
      boolean closed = tracked.close();
      assertTrue(closed || tracked.hasFailed(), "close after the device works again");
    }
    for (CrashableStorage after : storage.crashStates(3, 1)) {
      tracked.checkRecovered(after);
    }
    tracked.checkRecovered(storage.crashKeepingAll());
    if (ending == Ending.CRASH) {
      tracked.abandon();
    }
  }

  /** One read may meet the one fault; the next one must not. */
  private static void checkReads(TrackedEngine tracked, boolean sticky) {
    try {
      tracked.checkReads();
    } catch (KvException e) {
      if (sticky) {
        throw e;
      }
      tracked.checkReads();
    }
  }
}
