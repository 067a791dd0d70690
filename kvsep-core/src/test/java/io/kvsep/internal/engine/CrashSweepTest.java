package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StoreFiles.Kind;
import io.kvsep.testing.Fault;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.BiPredicate;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Workloads of up to three steps out of everything a store can do, crashed before each storage
 * operation that changes something, in every state that may leave, as {@link CrashSweep} does it. A
 * short run draws workloads and states, see {@link Sample}. {@code -Dkvsep.exhaustive=true} tries
 * all but those of three steps, which it draws, and prints how much that was.
 */
final class CrashSweepTest {
  private static final Effort EXHAUSTIVE = new Effort(300, 20, 40, 60, 4);

  private static final Effort EFFORT = Sample.EXHAUSTIVE ? EXHAUSTIVE : EXHAUSTIVE.choosing(4, 2);

  /** Cases of a short run, and draws that have to notice a canary. */
  private static final int TWO_STEPS = 24;

  private static final int THREE_STEPS = 24;
  private static final int FILLED = 20;

  /** Of 9,261: all of them take hours. */
  private static final int THREE_STEPS_EXHAUSTIVE = 600;

  private static final int DRAWS = 3;

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

  /** A workload on a store; the seed draws states where there are too many to try them all. */
  private record Case(OptionSet options, List<Step> filling, List<Step> workload, long seed) {
    void run(CrashSweep sweep) {
      sweep.run(options, filling, workload, seed);
    }

    /** The n-th step of the workload, or "" when that is shorter. */
    String step(int index) {
      return index < workload.size() ? workload.get(index).name() : "";
    }
  }

  private static Sample<Case> sample(List<Case> cases) {
    return Sample.of(cases)
        .meeting(Case::options)
        .meeting(one -> one.step(0))
        .meeting(one -> one.step(1))
        .meeting(one -> one.step(2));
  }

  private static Sample<Case> ofTwoSteps() {
    List<Case> cases = new ArrayList<>();
    int number = 0;
    for (Step first : STEPS) {
      for (Step second : STEPS) {
        number++;
        for (OptionSet options : OptionSet.values()) {
          cases.add(new Case(options, List.of(), List.of(first, second), number));
        }
      }
    }
    return sample(cases);
  }

  /** Each workload with one set of options, which are taken in turns, or in a long run with all. */
  private static Sample<Case> ofThreeSteps() {
    List<Case> cases = new ArrayList<>();
    for (Step first : STEPS) {
      int number = first.ordinal();
      for (Step second : STEPS) {
        for (Step third : STEPS) {
          OptionSet turn = OptionSet.values()[number++ % OptionSet.values().length];
          for (OptionSet options : Sample.LONG ? OptionSet.values() : new OptionSet[] {turn}) {
            cases.add(new Case(options, List.of(), List.of(first, second, third), number));
          }
        }
      }
    }
    return sample(cases).exhaustingAtMost(THREE_STEPS_EXHAUSTIVE);
  }

  private static Sample<Case> ofFilledStores() {
    List<Case> cases = new ArrayList<>();
    for (OptionSet options : OptionSet.values()) {
      for (Step step : STEPS) {
        cases.add(new Case(options, FILLING, List.of(step), 1));
      }
    }
    return sample(cases);
  }

  @Test
  void aStoreThatIsBeingMadeIsThereOrNot() {
    Effort all = new Effort(2_000, 100, 1, 500, 50);
    Effort effort = Sample.EXHAUSTIVE ? all : all.choosing(6, 3);
    Sample.of(Arrays.asList(OptionSet.values()))
        .run(
            CrashSweepTest.class,
            "aStoreThatIsBeingMadeIsThereOrNot",
            OptionSet.values().length,
            (cases, seed) -> {
              CrashSweep sweep = new CrashSweep(effort, seed, plain -> plain);
              cases.forEach(options -> sweep.run(options, List.of(), List.of(), 1));
              report("making a store", sweep, 10 * cases.size());
            });
  }

  @Test
  void everyWorkloadOfTwoStepsSurvivesEveryCrash() {
    run("everyWorkloadOfTwoStepsSurvivesEveryCrash", ofTwoSteps(), TWO_STEPS, 5);
  }

  @Test
  void everyWorkloadOfThreeStepsSurvivesEveryCrash() {
    run("everyWorkloadOfThreeStepsSurvivesEveryCrash", ofThreeSteps(), THREE_STEPS, 5);
  }

  @Test
  void everyStepOfAFilledStoreSurvivesEveryCrash() {
    run("everyStepOfAFilledStoreSurvivesEveryCrash", ofFilledStores(), FILLED, 4);
  }

  private static void run(String method, Sample<Case> sample, int count, int statesPerCase) {
    sample.run(
        CrashSweepTest.class,
        method,
        count,
        (cases, seed) -> {
          CrashSweep sweep = new CrashSweep(EFFORT, seed, plain -> plain);
          cases.forEach(one -> one.run(sweep));
          report(method, sweep, statesPerCase * cases.size());
        });
  }

  @Test
  void drawnWorkloadsOfThreeStepsSurviveEveryCrash() {
    CrashSweep sweep = new CrashSweep(EFFORT);
    Seeds.some(
        CrashSweepTest.class,
        "drawnWorkloadsOfThreeStepsSurviveEveryCrash",
        200,
        4,
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
    Seeds.some(
        CrashSweepTest.class,
        "drawnLongWorkloadsSurviveEveryCrash",
        500,
        2,
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

  private static Step drawn(Random random) {
    return STEPS.get(random.nextInt(STEPS.size()));
  }

  /** A workload with one operation that fails. */
  private record Failing(OptionSet options, Step last, Fault fault, int at) {}

  /** What a write left that failed with all or some of its bytes in the file. */
  @Test
  void aWriteThatFailedBeforeTheCrashDoesNotComeBack() {
    List<Failing> all = new ArrayList<>();
    for (OptionSet options : List.of(OptionSet.SEPARATED, OptionSet.SYNCED)) {
      for (Fault fault : List.of(Fault.SHORT_WRITE, Fault.LATE_EIO)) {
        for (int at = 5; at <= 12; at++) {
          for (Step last : List.of(Step.PUT, Step.BATCH, Step.SYNC)) {
            all.add(new Failing(options, last, fault, at));
          }
        }
      }
    }
    Effort most = new Effort(2_000, 20, 100, 60, 4);
    Effort effort = Sample.EXHAUSTIVE ? most : most.choosing(6, 3);
    Sample.of(all)
        .meeting(Failing::options)
        .meeting(Failing::last)
        .meeting(one -> List.of(one.fault(), one.at()))
        .run(
            CrashSweepTest.class,
            "aWriteThatFailedBeforeTheCrashDoesNotComeBack",
            20,
            (cases, seed) -> {
              CrashSweep sweep = new CrashSweep(effort, seed, plain -> plain);
              for (Failing one : cases) {
                List<Step> workload = List.of(Step.PUT, Step.DELETE, one.last());
                sweep.runFaulty(one.options(), workload, one.fault(), one.at(), one.at());
              }
              report("failed writes", sweep, 2 * cases.size());
            });
  }

  /** What a storage may claim; each draw of a short run has to notice. */
  private enum Canary {
    LOG,
    MANIFEST,
    TABLE,
    DIRECTORY,
    DELETE_BEFORE_MANIFEST;

    Storage over(Storage plain) {
      Lie lie = this == DELETE_BEFORE_MANIFEST ? Lie.SYNC_AFTER_DELETE : Lie.SYNC_LEFT_OUT;
      return new LyingStorage(
          plain,
          lie,
          switch (this) {
            case LOG -> isSyncOf(Kind.SEGMENT);
            case MANIFEST, DELETE_BEFORE_MANIFEST -> isSyncOf(Kind.MANIFEST);
            case TABLE -> isSyncOf(Kind.TABLE);
            case DIRECTORY -> (operation, kind) -> operation == Operation.SYNC_DIRECTORY;
          });
    }
  }

  @ParameterizedTest
  @EnumSource(Canary.class)
  void canaryEachDrawNoticesALie(Canary canary) {
    Effort effort = EXHAUSTIVE.choosing(4, 2);
    for (long seed = 1; seed <= DRAWS; seed++) {
      CrashSweep sweep = new CrashSweep(effort, seed, canary::over);
      List<Case> cases = new ArrayList<>(ofFilledStores().drawn(FILLED, seed));
      cases.addAll(ofTwoSteps().drawn(TWO_STEPS, seed));
      cases.addAll(ofThreeSteps().drawn(THREE_STEPS, seed));
      for (int i = 0; i < cases.size() && sweep.failures().failureCount() == 0; i++) {
        cases.get(i).run(sweep);
      }
      assertTrue(sweep.failures().failureCount() > 0, canary + " went unnoticed, seed " + seed);
    }
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
    Effort effort = new Effort(100, 20, 1_000, 10, 5).choosing(10, 3);
    CrashSweep honest =
        new CrashSweep(
            effort, 1, plain -> new LyingStorage(plain, lie, (operation, kind) -> false));
    honest.run(OptionSet.SEPARATED, FILLING, workload, 1);
    honest.failures().report();
    CrashSweep lied = new CrashSweep(effort, 1, plain -> new LyingStorage(plain, lie, about));
    lied.run(OptionSet.SEPARATED, FILLING, workload, 1);
    assertTrue(lied.failures().failureCount() > 0, "a lie about " + workload + " went unnoticed");
  }

  /** A sweep that no longer reaches its states would pass as well. */
  private static void report(String what, CrashSweep sweep, int statesMin) {
    if (Sample.EXHAUSTIVE) {
      System.out.println(what + ": " + sweep.summary());
    }
    sweep.failures().report();
    assertTrue(sweep.states() >= statesMin, "only " + sweep.summary());
  }
}
