package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.FeedFollower.Given;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.SortedMap;
import org.junit.jupiter.api.Test;

/**
 * Stores that do all kinds of things while a reader follows their changes. What the reader gets
 * always adds up to what the store holds, no crash takes any of it back or gives its number to
 * something else, and what the reader misses is reported.
 */
final class ChangeFeedSweepTest {
  private static final List<Step> STEPS =
      Arrays.stream(Step.values()).filter(step -> !step.reads()).toList();

  /** Few enough loads and so on that something can be followed between them. */
  private static Step drawn(Random random) {
    return random.nextInt(3) == 0
        ? STEPS.get(random.nextInt(STEPS.size()))
        : List.of(Step.PUT, Step.PUT_LARGE, Step.BATCH, Step.PUT_SYNCED, Step.SYNC, Step.PUT_IN)
            .get(random.nextInt(6));
  }

  private static OptionSet options(Random random) {
    return OptionSet.values()[random.nextInt(OptionSet.values().length)];
  }

  @Test
  void whatAFollowerIsGivenAddsUpToTheStore() {
    int[] counts = new int[3];
    Seeds.some(
        ChangeFeedSweepTest.class,
        "whatAFollowerIsGivenAddsUpToTheStore",
        120,
        20,
        seed -> follow(new Random(seed), counts));
    boolean all = counts[0] > 0 && counts[1] > 0 && counts[2] > 0;
    assertTrue(all || Long.getLong("kvsep.seed") != null, () -> Arrays.toString(counts));
  }

  private static void follow(Random random, int[] counts) {
    TrackedStore store = new TrackedStore(new CrashableStorage(), options(random));
    store.open();
    FeedFollower follower = new FeedFollower();
    int dropped = 0;
    for (int i = 0; i < 150; i++) {
      Step step = drawn(random);
      dropped += step == Step.DROP ? 1 : 0;
      if (step == Step.DROP && dropped >= StoreContent.IDS - 1) {
        // No reader would look at what is in the next one.
        continue;
      }
      assertTrue(store.run(step), step::toString);
      if (step == Step.REOPEN || step == Step.KILL) {
        follower.reconnect();
      }
      if (random.nextBoolean()) {
        follower.follow(store.engine());
      }
      if (random.nextInt(10) == 0) {
        assertTrue(store.run(Step.SYNC));
        follower.follow(store.engine());
        assertEquals(
            StoreContent.of(store.engine()).text(store.nowMillis()),
            follower.content().text(store.nowMillis()));
        Given given = follower.given();
        counts[0] += given.changes().size();
        Given part = given.behind(random.nextInt(given.changes().size() + 1) - 1);
        counts[1] += FeedFollower.stillHas(store.engine(), part) ? 1 : 0;
      }
    }
    counts[2] += follower.copies();
    store.abandon();
  }

  private record Point(CrashableStorage storage, Given given) {}

  @Test
  void noCrashTakesBackWhatWasGiven() {
    int[] counts = new int[2];
    Seeds.some(
        ChangeFeedSweepTest.class,
        "noCrashTakesBackWhatWasGiven",
        40,
        4,
        seed -> crash(seed, counts));
    boolean both = counts[0] > 100 && counts[1] > 100;
    assertTrue(both || Long.getLong("kvsep.seed") != null, () -> Arrays.toString(counts));
  }

  private static void crash(long seed, int[] counts) {
    Random random = new Random(seed);
    OptionSet options = options(random);
    TrackedStore store = new TrackedStore(new CrashableStorage(), options);
    FeedFollower follower = new FeedFollower();
    List<Point> points = new ArrayList<>();
    store.open();
    store.watch(moment -> points.add(new Point(moment, follower.given())));
    for (int i = 0; i < 25; i++) {
      Step step = drawn(random);
      assertTrue(store.run(step), step::toString);
      if (step == Step.REOPEN || step == Step.KILL) {
        follower.reconnect();
      }
      follower.follow(store.engine());
    }
    store.abandon();
    Failures failures = new Failures();
    for (int i = 0; i < points.size(); i++) {
      Given given = points.get(i).given();
      for (SortedMap<String, byte[]> files : points.get(i).storage().crashSpace(6, 3, seed + i)) {
        CrashableStorage after = CrashableStorage.holding(files);
        failures.check(
            options + ", crash " + i + " of " + points.size() + ", seed " + seed,
            after,
            () -> counts[check(options, after, given, random) ? 0 : 1]++);
      }
    }
    failures.report();
  }

  /** Whether the recovered store still has all that was given. */
  private static boolean check(
      OptionSet options, CrashableStorage after, Given given, Random random) {
    TrackedStore recovered = new TrackedStore(after, options);
    recovered.open();
    try {
      long last = recovered.engine().reads().visibleSequence();
      assertTrue(last >= given.position(), () -> given.position() + " given, found up to " + last);
      boolean all = FeedFollower.stillHas(recovered.engine(), given);
      int part = random.nextInt(given.changes().size() + 1) - 1;
      assertTrue(FeedFollower.stillHas(recovered.engine(), given.behind(part)) || !all);
      return all;
    } finally {
      recovered.abandon();
    }
  }
}
