package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.FaultSweep.Action;
import io.kvsep.internal.engine.FaultSweep.FaultPoint;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiPredicate;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * Each storage call of each thing a store does fails, in each way it can, once and for ever; see
 * {@link FaultSweep}. A short run draws some of these calls and ways, see {@link Sample}.
 */
final class FaultSweepTest {
  /** Cases of a short run, for each thing that a store does. */
  private static final int CASES = 10;

  /** Sets of options of a short run, for each thing that a store does. */
  private static final int OPTION_SETS = 3;

  private static final int DRAWS = 3;

  /** Nothing fails in the first, and the others are openings. */
  private static final Set<Step> NOT_SWEPT = EnumSet.of(Step.ADVANCE, Step.REOPEN, Step.KILL);

  /**
   * What may fail without an error for the caller: an obsolete file stays until the next open, a
   * mark behind an edit that is durable only tells damage from a crash, reading ahead is left to
   * the mapping, and what fails in the background is done again, there or by the call that needs
   * it. Looking for tables that a deleted range covers is such work wherever it is done.
   */
  private static final Pattern ABSORBED =
      Pattern.compile(
          "[A-Za-z_]+: (delete (SEGMENT|TABLE|MANIFEST)|write MARK)"
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

  /** Something a store does after something else. */
  private record Work(String name, List<Step> before, Action action) {
    static Work of(Step step) {
      List<Step> before = new ArrayList<>(BEFORE);
      if (step == Step.MAKE) {
        before.add(Step.DROP);
      } else if (step == Step.BACKGROUND) {
        before.addAll(BEFORE_BACKGROUND);
      }
      return new Work(step.name(), before, store -> store.run(step));
    }

    void run(FaultSweep sweep, FaultPoint point) {
      sweep.run(before, name, action, point);
    }

    Sample<Case> sample(List<OptionSet> sets) {
      List<Case> cases = new ArrayList<>();
      for (OptionSet options : sets) {
        for (FaultPoint point : new FaultSweep(options, plain -> plain).points(before, action)) {
          cases.add(new Case(options, point));
        }
      }
      return Sample.of(cases)
          .meeting(Case::options)
          .meeting(one -> one.point().fault())
          .meeting(one -> FaultSweep.fileOperation(one.point().call()));
    }
  }

  private record Case(OptionSet options, FaultPoint point) {}

  @ParameterizedTest
  @EnumSource(
      value = Step.class,
      mode = Mode.EXCLUDE,
      names = {"ADVANCE", "REOPEN", "KILL"})
  void aFailingCallBreaksNoPromise(Step step) {
    run("aFailingCallBreaksNoPromise", Work.of(step));
  }

  @Test
  void aFailingCallOfARecoveryBreaksNoPromise() {
    Work opening = new Work("opening", BEFORE, FaultSweep.OPENING);
    run("aFailingCallOfARecoveryBreaksNoPromise", opening);
  }

  @Test
  void aFailingCallOfClosingBreaksNoPromise() {
    Work closing = new Work("closing", BEFORE, FaultSweep.CLOSING);
    run("aFailingCallOfClosingBreaksNoPromise", closing);
  }

  /** With one at least that leaves something for a sync to do. */
  private static Sample<OptionSet> optionSets() {
    return Sample.of(List.of(OptionSet.values()))
        .meeting(set -> set.sync == CommitSync.ON_DEMAND && !set.runsBackground);
  }

  private static void run(String method, Work work) {
    optionSets()
        .run(
            FaultSweepTest.class,
            method,
            OPTION_SETS,
            (sets, seed) -> {
              Sample<Case> sample = work.sample(sets);
              List<Case> cases = Sample.EXHAUSTIVE ? sample.all() : sample.drawn(CASES, seed);
              int faultPoints = 0;
              for (OptionSet options : sets) {
                FaultSweep sweep = new FaultSweep(options, plain -> plain);
                for (Case one : cases) {
                  if (one.options() == options) {
                    work.run(sweep, one.point());
                  }
                }
                sweep.failures().report();
                requireErrors(options, sweep);
                faultPoints += sweep.faultPoints();
              }
              assertEquals(cases.size(), faultPoints, "faults that were met");
              // A call fails at least once and from there on.
              assertTrue(faultPoints >= 2 * sets.size(), "only " + faultPoints);
            });
  }

  private static void requireErrors(OptionSet options, FaultSweep sweep) {
    for (String absorbed : sweep.absorbed()) {
      // Where work in the background belongs to every step, it may be that which failed.
      assertTrue(
          options.runsBackground || ABSORBED.matcher(absorbed).matches(),
          "no error from " + absorbed);
    }
  }

  @Test
  void canaryASwallowedErrorIsNoticed() {
    requireNoticed(Step.SYNC, (operation, kind) -> operation == Operation.SYNC);
    requireNoticed(Step.PUT_SYNCED, (operation, kind) -> kind == Kind.SEGMENT);
    requireNoticed(Step.PUT_LARGE, (operation, kind) -> operation == Operation.WRITE);
    requireNoticed(Step.FLUSH, (operation, kind) -> kind == Kind.TABLE);
    requireNoticed(Step.FLUSH, (operation, kind) -> kind == Kind.MANIFEST);
  }

  /** By the draws of a short run for all steps; it begins with the one that is likely to. */
  private static void requireNoticed(Step first, BiPredicate<Operation, Kind> swallowed) {
    List<Step> steps = new ArrayList<>(List.of(first, Step.COMPACT, Step.RECLAIM, Step.DROP));
    for (Step step : Step.values()) {
      if (!NOT_SWEPT.contains(step) && !steps.contains(step)) {
        steps.add(step);
      }
    }
    for (long seed = 1; seed <= DRAWS; seed++) {
      long draw = seed;
      assertTrue(
          steps.stream().anyMatch(step -> isNoticed(Work.of(step), draw, swallowed)),
          "errors were swallowed, as of " + first + ", seed " + seed);
    }
  }

  private static boolean isNoticed(Work work, long seed, BiPredicate<Operation, Kind> swallowed) {
    List<OptionSet> sets = optionSets().drawn(OPTION_SETS, seed);
    return work.sample(sets).drawn(CASES, seed).stream()
        .anyMatch(one -> isNoticed(work, one, swallowed));
  }

  private static boolean isNoticed(Work work, Case one, BiPredicate<Operation, Kind> swallowed) {
    FaultSweep sweep =
        new FaultSweep(
            one.options(), plain -> new LyingStorage(plain, Lie.ERROR_SWALLOWED, swallowed));
    work.run(sweep, one.point());
    return sweep.failures().failureCount() > 0;
  }
}
