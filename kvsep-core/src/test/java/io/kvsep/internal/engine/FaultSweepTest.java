package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.Operation;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * Each storage call of each thing a store does fails, in each way it can, once and for ever; see
 * {@link FaultSweep}. {@code -Dkvsep.long=true} does so with all options and says how many fault
 * points there were.
 */
final class FaultSweepTest {
  private static final boolean LONG = Boolean.getBoolean("kvsep.long");

  private static final Set<OptionSet> OPTIONS =
      LONG ? EnumSet.allOf(OptionSet.class) : EnumSet.of(OptionSet.SEPARATED, OptionSet.INTERVAL);

  /**
   * What may fail without an error for the caller: a file that nobody needs stays until the next
   * open, a mark behind an edit that is durable only tells damage from a crash, the log does
   * without room, and room that cannot be cut off stays, reading ahead is left to the mapping, and
   * what fails in the background is done again, there or by the call that needs it. Looking for
   * tables that a deleted range covers is such work wherever it is done.
   */
  private static final Pattern ABSORBED =
      Pattern.compile(
          "[A-Za-z_]+: (delete (SEGMENT|TABLE|MANIFEST)|write MARK|write ROOM)"
              + "|closing: truncate SEGMENT"
              + "|(GET_ALL|SNAPSHOT|SCAN|SCAN_BACK|GET|opening): (read|open) SEGMENT"
              + "|(COMPACT|RECLAIM|BACKGROUND): .*"
              + "|[A-Za-z_]+: (open|map) TABLE");

  /** Leaves tables in level 0 that are due to be merged. */
  private static final List<Step> BEFORE_BACKGROUND =
      List.of(Step.FLUSH, Step.PUT, Step.FLUSH, Step.PUT_IN, Step.FLUSH, Step.PUT_LARGE);

  /** Leaves tables in two levels, segments with garbage, a keyspace, and something unsynced. */
  private static final List<Step> BEFORE =
      List.of(
          Step.BATCH,
          Step.PUT_IN,
          Step.PUT_LARGE,
          Step.FLUSH,
          Step.PUT_HUGE,
          Step.BATCH,
          Step.FLUSH,
          Step.COMPACT,
          Step.PUT_LARGE,
          Step.PUT_LARGE,
          Step.DELETE_RANGE,
          Step.FLUSH,
          Step.PUT_IN,
          Step.PUT_LARGE,
          Step.DELETE);

  @ParameterizedTest
  @EnumSource(
      value = Step.class,
      mode = Mode.EXCLUDE,
      names = {"ADVANCE", "REOPEN", "KILL"})
  void aFailingCallBreaksNoPromise(Step step) {
    List<Step> before = new ArrayList<>(BEFORE);
    if (step == Step.MAKE) {
      before.add(Step.DROP);
    } else if (step == Step.BACKGROUND) {
      before.addAll(BEFORE_BACKGROUND);
    }
    runAll(step.name(), sweep -> sweep.run(before, step));
  }

  @Test
  void aFailingCallOfARecoveryBreaksNoPromise() {
    runAll("opening", sweep -> sweep.runOpening(BEFORE));
  }

  @Test
  void aFailingCallOfClosingBreaksNoPromise() {
    runAll("closing", sweep -> sweep.runClosing(BEFORE));
  }

  private static void runAll(String what, Consumer<FaultSweep> run) {
    int faultPoints = 0;
    for (OptionSet options : OPTIONS) {
      FaultSweep sweep = new FaultSweep(options, plain -> plain);
      run.accept(sweep);
      sweep.failures().report();
      faultPoints += sweep.faultPoints();
      for (String absorbed : sweep.absorbed()) {
        // Where work in the background belongs to every step, it may be that which failed.
        assertTrue(
            options.runsBackground || ABSORBED.matcher(absorbed).matches(),
            "no error from " + absorbed);
      }
    }
    if (LONG) {
      System.out.println(what + ": " + faultPoints + " fault points");
    }
    assertTrue(faultPoints >= 10, "only " + faultPoints);
  }

  @Test
  void canaryASwallowedErrorIsNoticed() {
    requireNoticed(Step.SYNC, (operation, kind) -> operation == Operation.SYNC);
    requireNoticed(Step.PUT_SYNCED, (operation, kind) -> kind == Kind.SEGMENT);
    requireNoticed(Step.PUT_LARGE, (operation, kind) -> operation == Operation.WRITE);
    requireNoticed(Step.FLUSH, (operation, kind) -> kind == Kind.TABLE);
    requireNoticed(Step.FLUSH, (operation, kind) -> kind == Kind.MANIFEST);
  }

  private static void requireNoticed(Step step, BiPredicate<Operation, Kind> swallowed) {
    FaultSweep sweep =
        new FaultSweep(
            OptionSet.SEPARATED, plain -> new LyingStorage(plain, Lie.ERROR_SWALLOWED, swallowed));
    sweep.run(BEFORE, step);
    assertTrue(sweep.failures().failureCount() > 0, "errors of " + step + " were swallowed");
  }
}
