package io.kvsep.internal.backup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.CrashPromise;
import io.kvsep.internal.engine.CrashSweep;
import io.kvsep.internal.engine.CrashSweep.CrashPoint;
import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.Failures;
import io.kvsep.internal.engine.FaultSweep;
import io.kvsep.internal.engine.FaultSweep.FaultPoint;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.TrackedStore;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.testing.CrashSpace;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Sample;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;

/**
 * Checkpoints that a power failure or a failing call interrupts: there is nothing of the name, or
 * all of it, and the store itself keeps its promises.
 */
final class CheckpointCrashTest {
  private static final String NAME = "copy";

  /** Cases of a short run. */
  private static final int COPIES = 10;

  private static final int FAULTS = 40;

  private static final Effort ALL = new Effort(40, 6, 1_000, 10, 2);

  private static final Effort EFFORT = Sample.EXHAUSTIVE ? ALL : ALL.choosing(4, 2);

  /** Leaves tables in two levels, relocated records, a keyspace, and something in the log alone. */
  private static final List<Step> FILLING =
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
          Step.RECLAIM,
          Step.PUT_LARGE,
          Step.DELETE_RANGE,
          Step.FLUSH,
          Step.PUT_IN,
          Step.PUT_LARGE,
          Step.DELETE);

  /** What the store does afterwards to files that both have. */
  private static final List<Step> LATER =
      List.of(
          Step.PUT_SYNCED,
          Step.FLUSH,
          Step.COMPACT,
          Step.RECLAIM,
          Step.PUT_LARGE,
          Step.KILL,
          Step.BATCH_SYNCED);

  private static boolean checkpoint(TrackedStore store) {
    return store.maintain(engine -> engine.backups().checkpoint(Path.of(NAME)));
  }

  /** A store that is checkpointed. */
  private record Copied(OptionSet options, List<Step> filling, boolean links) {}

  @Test
  void aCrashLeavesAllOfACopyOrNothing() {
    List<Copied> all = new ArrayList<>();
    for (OptionSet options : OptionSet.values()) {
      for (List<Step> filling : List.of(FILLING, List.of(Step.PUT), List.<Step>of())) {
        all.add(new Copied(options, filling, /* links= */ true));
        all.add(new Copied(options, filling, /* links= */ false));
      }
    }
    Sample.of(all)
        .meeting(Copied::options)
        .meeting(one -> List.of(one.filling().size(), one.links()))
        .run(
            CheckpointCrashTest.class,
            "aCrashLeavesAllOfACopyOrNothing",
            COPIES,
            (cases, seed) ->
                cases.forEach(one -> crash(one.options(), one.filling(), one.links(), seed)));
  }

  private static void crash(OptionSet options, List<Step> filling, boolean links, long seed) {
    TrackedStore store = new TrackedStore(new CrashableStorage(), options);
    store.storage().linksFiles(links);
    store.open();
    filling.forEach(step -> assertTrue(store.run(step), step::toString));
    CrashPromise copied = promiseOfACopy(store);
    List<CrashPoint> points = new ArrayList<>();
    store.watch(moment -> points.add(new CrashPoint(moment, store.promise())));
    assertTrue(checkpoint(store));
    int promisedFrom = points.size();
    points.add(new CrashPoint(store.storage().moment(), store.promise()));
    for (Step step : LATER) {
      assertTrue(store.run(step), step::toString);
    }
    points.add(new CrashPoint(store.storage().moment(), store.promise()));
    store.abandon();

    CrashSweep sweep = new CrashSweep(EFFORT, seed, plain -> plain);
    sweep.crash("checkpoint", options, points.subList(0, promisedFrom + 1), 1);
    sweep.failures().report();
    Failures failures = new Failures();
    for (int i = 0; i < points.size(); i++) {
      CrashSpace space = points.get(i).storage().crashSpace(40, 6, i);
      boolean promised = i >= promisedFrom;
      for (SortedMap<String, byte[]> files : space) {
        CrashableStorage after = CrashableStorage.holding(files);
        failures.check(
            options + ", crash " + i + " of " + points.size(),
            after,
            () -> checkCopy(options, after, copied, promised));
      }
    }
    failures.report();
    assertTrue(failures.runCount() >= points.size());
  }

  private static CrashPromise promiseOfACopy(TrackedStore store) {
    return new CrashPromise(store.nowMillis(), List.of(store.current()), store.promise().names());
  }

  private static void checkCopy(
      OptionSet options, CrashableStorage after, CrashPromise copied, boolean promised) {
    boolean there = after.directories().contains(NAME);
    assertTrue(there || !promised, "a copy that was made is gone");
    if (there) {
      try {
        CrashSweep.check(options, after.detached(NAME), copied);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
  }

  /** A failing call of a checkpoint. */
  private record Failing(OptionSet options, boolean links, FaultPoint point) {}

  @Test
  void aFailingCallLeavesNothingAndBreaksNoPromise() {
    List<Failing> all = new ArrayList<>();
    for (OptionSet options : List.of(OptionSet.SEPARATED, OptionSet.INTERVAL)) {
      for (boolean links : new boolean[] {true, false}) {
        FaultSweep sweep = new FaultSweep(options, plain -> plain);
        for (FaultPoint point : sweep.points(FILLING, store -> copies(store, options, links))) {
          all.add(new Failing(options, links, point));
        }
      }
    }
    assertTrue(all.size() > 400, "only " + all.size());
    Sample.of(all)
        .meeting(one -> List.of(one.options(), one.links()))
        .meeting(one -> one.point().fault())
        .meeting(one -> FaultSweep.fileOperation(one.point().call()))
        .run(
            CheckpointCrashTest.class,
            "aFailingCallLeavesNothingAndBreaksNoPromise",
            FAULTS,
            (cases, seed) -> cases.forEach(CheckpointCrashTest::fail));
  }

  private static void fail(Failing one) {
    FaultSweep sweep = new FaultSweep(one.options(), plain -> plain);
    sweep.run(
        FILLING, "checkpoint", store -> copies(store, one.options(), one.links()), one.point());
    sweep.failures().report();
    assertEquals(1, sweep.faultPoints(), "faults that were met");
    // The mark behind a durable edit only tells damage from a crash.
    assertTrue(
        Set.of("checkpoint: write MARK").containsAll(sweep.absorbed()), sweep.absorbed()::toString);
  }

  private static boolean copies(TrackedStore store, OptionSet options, boolean links) {
    store.storage().linksFiles(links);
    CrashPromise copied = promiseOfACopy(store);
    boolean done = checkpoint(store);
    boolean there = store.storage().directories().contains(NAME);
    assertTrue(there || !done, "no copy and no error");
    // Where everything fails from some call on, what has its name cannot lose it again.
    checkCopy(options, store.storage().moment(), copied, done);
    return done;
  }
}
