package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.Fault;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Workloads of up to three steps out of everything a store can do, crashed before each storage
 * operation that changes something, in every state that may leave, as {@link CrashSweep} does it.
 * {@code -Dkvsep.long=true} tries all workloads of three steps, each with one set of options, and
 * those of two with all, and says how much that was.
 */
final class CrashSweepTest {
  private static final boolean LONG = Boolean.getBoolean("kvsep.long");

  private static final Effort EFFORT =
      LONG ? new Effort(300, 20, 40, 60, 4) : new Effort(120, 12, 100, 60, 4);

  private static final List<Step> STEPS =
      Arrays.stream(Step.values()).filter(step -> !step.reads()).toList();

  /** What a store has in it before the workload, so that there are tables and several segments. */
  private static final List<Step> FILLING =
      List.of(
          Step.BATCH,
          Step.PUT_IN,
          Step.PUT_LARGE,
          Step.FLUSH,
          Step.PUT_HUGE,
          Step.BATCH,
          Step.PUT_EXPIRING,
          Step.FLUSH,
          Step.COMPACT,
          Step.PUT_LARGE,
          Step.RECLAIM,
          Step.PUT_LARGE,
          Step.PUT_IN,
          Step.DELETE_RANGE,
          Step.FLUSH,
          Step.DELETE,
          Step.PUT);

  @Test
  void aStoreThatIsBeingMadeIsThereOrNot() {
    CrashSweep sweep = new CrashSweep(new Effort(2_000, 100, 1, 500, 50));
    for (OptionSet options : OptionSet.values()) {
      sweep.run(options, List.of(), List.of(), 1);
    }
    report("making a store", sweep, 70);
  }

  @Test
  void everyWorkloadOfTwoStepsSurvivesEveryCrash() {
    CrashSweep sweep = new CrashSweep(EFFORT);
    int number = 0;
    for (Step first : STEPS) {
      for (Step second : STEPS) {
        for (OptionSet options : someOptions(number++)) {
          sweep.run(options, List.of(), List.of(first, second), number);
        }
      }
    }
    report("two steps", sweep, 4_000);
  }

  /** All options in the long run, else one after the other. */
  private static Set<OptionSet> someOptions(int number) {
    OptionSet[] all = OptionSet.values();
    return LONG ? EnumSet.allOf(OptionSet.class) : EnumSet.of(all[number % all.length]);
  }

  @ParameterizedTest
  @EnumSource(OptionSet.class)
  void everyStepOfAFilledStoreSurvivesEveryCrash(OptionSet options) {
    CrashSweep sweep = new CrashSweep(EFFORT);
    for (Step step : STEPS) {
      sweep.run(options, FILLING, List.of(step), 1);
    }
    report("filled, " + options, sweep, 300);
  }

  @Test
  void drawnWorkloadsOfThreeStepsSurviveEveryCrash() {
    CrashSweep sweep = new CrashSweep(EFFORT);
    Seeds.run(
        CrashSweepTest.class,
        "drawnWorkloadsOfThreeStepsSurviveEveryCrash",
        1,
        Integer.getInteger("kvsep.seeds", LONG ? 200 : 12),
        seed -> {
          Random random = new Random(seed);
          OptionSet options = OptionSet.values()[random.nextInt(OptionSet.values().length)];
          List<Step> filling = random.nextBoolean() ? FILLING : List.of();
          List<Step> workload = List.of(drawn(random), drawn(random), drawn(random));
          sweep.run(options, filling, workload, seed);
          sweep.failures().report();
        });
    report("three drawn steps", sweep, 1);
  }

  /** Of each crash point only a few states; of some runs, an operation fails before. */
  @Test
  void drawnLongWorkloadsSurviveEveryCrash() {
    CrashSweep sweep = new CrashSweep(new Effort(8, 3, 50, 8, 2));
    Seeds.run(
        CrashSweepTest.class,
        "drawnLongWorkloadsSurviveEveryCrash",
        1,
        Integer.getInteger("kvsep.seeds", LONG ? 500 : 10),
        seed -> {
          Random random = new Random(seed);
          OptionSet options = OptionSet.values()[random.nextInt(OptionSet.values().length)];
          List<Step> workload = new ArrayList<>();
          for (int i = 10 + random.nextInt(20); i > 0; i--) {
            workload.add(drawn(random));
          }
          if (random.nextBoolean()) {
            sweep.run(options, List.of(), workload, seed);
          } else {
            Fault fault = Fault.values()[random.nextInt(Fault.values().length)];
            sweep.runFaulty(options, workload, fault, 1 + random.nextInt(150), seed);
          }
          sweep.failures().report();
        });
    report("long drawn workloads", sweep, 1);
  }

  /** What a write left that failed with all or some of its bytes in the file. */
  @Test
  void aWriteThatFailedBeforeTheCrashDoesNotComeBack() {
    CrashSweep sweep = new CrashSweep(new Effort(LONG ? 2_000 : 120, 20, 100, 60, 4));
    for (OptionSet options : List.of(OptionSet.SEPARATED, OptionSet.SYNCED)) {
      for (Fault fault : List.of(Fault.SHORT_WRITE, Fault.LATE_EIO)) {
        for (int at = 5; at <= 12; at++) {
          for (Step step : List.of(Step.PUT, Step.BATCH, Step.SYNC)) {
            sweep.runFaulty(options, List.of(Step.PUT, Step.DELETE, step), fault, at, at);
          }
        }
      }
    }
    report("failed writes", sweep, 500);
  }

  private static Step drawn(Random random) {
    return STEPS.get(random.nextInt(STEPS.size()));
  }

  /** Every part of the long run has the workloads that begin with one step. */
  @ParameterizedTest
  @EnumSource(Step.class)
  void everyWorkloadOfThreeStepsSurvivesEveryCrash(Step first) {
    if (!LONG || first.reads()) {
      return;
    }
    CrashSweep sweep = new CrashSweep(EFFORT);
    int number = first.ordinal();
    for (Step second : STEPS) {
      for (Step third : STEPS) {
        OptionSet options = OptionSet.values()[number++ % OptionSet.values().length];
        sweep.run(options, List.of(), List.of(first, second, third), number);
      }
    }
    report("three steps, " + first, sweep, 2_000);
  }

  @Test
  void canaryASyncOfTheLogThatIsLeftOutIsNoticed() {
    List<Step> workload = List.of(Step.PUT, Step.PUT_SYNCED);
    requireNoticed(workload, Lie.SYNC_LEFT_OUT, isSyncOf(Kind.SEGMENT));
  }

  @Test
  void canaryASyncOfTheManifestThatIsLeftOutIsNoticed() {
    requireNoticed(List.of(Step.MAKE), Lie.SYNC_LEFT_OUT, isSyncOf(Kind.MANIFEST));
    requireNoticed(List.of(Step.FLUSH), Lie.SYNC_LEFT_OUT, isSyncOf(Kind.MANIFEST));
  }

  @Test
  void canaryASyncOfATableThatIsLeftOutIsNoticed() {
    requireNoticed(List.of(Step.FLUSH), Lie.SYNC_LEFT_OUT, isSyncOf(Kind.TABLE));
    requireNoticed(List.of(Step.COMPACT), Lie.SYNC_LEFT_OUT, isSyncOf(Kind.TABLE));
  }

  @Test
  void canaryASyncOfTheDirectoryThatIsLeftOutIsNoticed() {
    BiPredicate<Operation, Kind> directory =
        (operation, kind) -> operation == Operation.SYNC_DIRECTORY;
    requireNoticed(List.of(Step.FLUSH), Lie.SYNC_LEFT_OUT, directory);
    requireNoticed(List.of(Step.PUT_HUGE, Step.SYNC), Lie.SYNC_LEFT_OUT, directory);
  }

  @Test
  void canaryADeleteThatOvertakesTheManifestIsNoticed() {
    requireNoticed(List.of(Step.COMPACT), Lie.SYNC_AFTER_DELETE, isSyncOf(Kind.MANIFEST));
    requireNoticed(List.of(Step.RECLAIM), Lie.SYNC_AFTER_DELETE, isSyncOf(Kind.MANIFEST));
  }

  private static BiPredicate<Operation, Kind> isSyncOf(Kind kind) {
    return (operation, of) -> operation == Operation.SYNC && of == kind;
  }

  /** The lie is told from the start; without it the same workload passes. */
  private static void requireNoticed(
      List<Step> workload, Lie lie, BiPredicate<Operation, Kind> about) {
    Effort effort = new Effort(100, 20, 1_000, 10, 5);
    CrashSweep honest =
        new CrashSweep(effort, plain -> new LyingStorage(plain, lie, (operation, kind) -> false));
    honest.run(OptionSet.SEPARATED, FILLING, workload, 1);
    honest.failures().report();
    CrashSweep lied = new CrashSweep(effort, plain -> new LyingStorage(plain, lie, about));
    lied.run(OptionSet.SEPARATED, FILLING, workload, 1);
    assertTrue(lied.failures().failureCount() > 0, "a lie about " + workload + " went unnoticed");
  }

  /** A sweep that no longer reaches its states would pass as well. */
  private static void report(String what, CrashSweep sweep, int statesMin) {
    if (LONG) {
      System.out.println(what + ": " + sweep.summary());
    }
    sweep.failures().report();
    assertTrue(sweep.states() >= statesMin, "only " + sweep.summary());
  }
}
