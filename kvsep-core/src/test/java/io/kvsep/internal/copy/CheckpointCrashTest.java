package io.kvsep.internal.copy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.CrashPromise;
import io.kvsep.internal.engine.CrashSweep;
import io.kvsep.internal.engine.CrashSweep.CrashPoint;
import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.Failures;
import io.kvsep.internal.engine.FaultSweep;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.TrackedStore;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.testing.CrashSpace;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Checkpoints that a power failure or a failing call interrupts: there is nothing of the name, or
 * all of it, and the store itself keeps its promises.
 */
final class CheckpointCrashTest {
  private static final String NAME = "copy";

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
    return store.maintain(engine -> engine.copies().checkpoint(Path.of(NAME)));
  }

  @ParameterizedTest
  @EnumSource(OptionSet.class)
  void aCrashLeavesAllOfACopyOrNothing(OptionSet options) {
    for (boolean links : new boolean[] {true, false}) {
      crash(options, FILLING, links);
      crash(options, List.of(Step.PUT), links);
      crash(options, List.of(), links);
    }
  }

  private static void crash(OptionSet options, List<Step> filling, boolean links) {
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

    CrashSweep sweep = new CrashSweep(new Effort(40, 6, 1_000, 10, 2));
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

  @Test
  void aFailingCallLeavesNothingAndBreaksNoPromise() {
    int faultPoints = 0;
    for (OptionSet options : List.of(OptionSet.SEPARATED, OptionSet.INTERVAL)) {
      for (boolean links : new boolean[] {true, false}) {
        FaultSweep sweep = new FaultSweep(options, plain -> plain);
        sweep.run(
            FILLING,
            "checkpoint",
            store -> {
              store.storage().linksFiles(links);
              CrashPromise copied = promiseOfACopy(store);
              boolean done = checkpoint(store);
              boolean there = store.storage().directories().contains(NAME);
              assertTrue(there || !done, "no copy and no error");
              // Where everything fails from some call on, what has its name cannot lose it again.
              checkCopy(options, store.storage().moment(), copied, done);
              return done;
            });
        sweep.failures().report();
        faultPoints += sweep.faultPoints();
        assertEquals(Set.of("checkpoint: write MARK"), sweep.absorbed());
      }
    }
    assertTrue(faultPoints > 400, "only " + faultPoints);
  }
}
