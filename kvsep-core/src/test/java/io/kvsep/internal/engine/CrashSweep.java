package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreFailedException;
import io.kvsep.internal.engine.CrashPromise.Found;
import io.kvsep.internal.engine.TrackedStore.Step;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.CrashSpace;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ManualClock;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.SortedMap;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Runs workloads and looks at what power loss may leave before each storage operation that changes
 * something, and after the last one. Of each crash point every state is tried, if there are few
 * enough, or else some drawn ones; a short run chooses a few of these. Every state is opened,
 * compared with what was promised at that point, written to, closed and opened again; the recovery
 * of some is crashed in its turn at each of its operations, and must lead to the same content. A
 * state that an earlier crash point of the workload left as well is compared with the later
 * promise, but not opened once more. Not thread safe.
 */
public final class CrashSweep {
  /**
   * How much is tried.
   *
   * @param statesMax most states of a crash point that are all tried
   * @param samples states that are drawn when there are more
   * @param recoveryInterval of so many states the recovery of one is crashed
   * @param recoveryStatesMax as {@code statesMax} for these crashes
   * @param recoverySamples as {@code samples} for these crashes
   * @param chosen of these states so many are opened: the first, the last, and some between them
   * @param recoveryChosen as {@code chosen} for crashes of a recovery
   */
  public record Effort(
      int statesMax,
      int samples,
      int recoveryInterval,
      int recoveryStatesMax,
      int recoverySamples,
      int chosen,
      int recoveryChosen) {
    /** One that opens all these states. */
    public Effort(
        int statesMax,
        int samples,
        int recoveryInterval,
        int recoveryStatesMax,
        int recoverySamples) {
      this(
          statesMax,
          samples,
          recoveryInterval,
          recoveryStatesMax,
          recoverySamples,
          Integer.MAX_VALUE,
          Integer.MAX_VALUE);
    }

    /** The same states; some of them are opened. */
    public Effort choosing(int chosen, int recoveryChosen) {
      return new Effort(
          statesMax,
          samples,
          recoveryInterval,
          recoveryStatesMax,
          recoverySamples,
          chosen,
          recoveryChosen);
    }
  }

  /** What there is when the power fails, and what was promised. */
  public record CrashPoint(CrashableStorage storage, CrashPromise promise) {}

  private final Failures failures = new Failures();
  private final Effort effort;
  private final UnaryOperator<Storage> disguise;
  private final long choice;

  /** Begins anew with each workload, so that none depends on those before it. */
  private Random random;

  private int crashPoints;
  private int exhaustivePoints;
  private int recoveryCrashPoints;
  private int exhaustiveRecoveryPoints;
  private int states;
  private int recoveryStates;

  public CrashSweep(Effort effort) {
    this(effort, 1, plain -> plain);
  }

  /**
   * @param choice seed that chooses the states which are opened, where these are not all
   * @param disguise what stands between an engine and the storage while the workload is run
   */
  public CrashSweep(Effort effort, long choice, UnaryOperator<Storage> disguise) {
    this.effort = effort;
    this.disguise = disguise;
    this.choice = choice;
    this.random = new Random(choice);
  }

  public Failures failures() {
    return failures;
  }

  int crashPoints() {
    return crashPoints;
  }

  int exhaustivePoints() {
    return exhaustivePoints;
  }

  /** States that were opened, those of crashed recoveries included. */
  public int states() {
    return states + recoveryStates;
  }

  /** The figures, in one line. */
  String summary() {
    return String.format(
        "%,d states of %,d crash points (%,d exhaustive), and %,d states of %,d crash points"
            + " within recoveries (%,d exhaustive)",
        states,
        crashPoints,
        exhaustivePoints,
        recoveryStates,
        recoveryCrashPoints,
        exhaustiveRecoveryPoints);
  }

  /**
   * Crashes a workload.
   *
   * @param filling what is done before, without crashes; when empty, the making of the store is
   *     crashed as well if {@code workload} is empty, too
   */
  void run(OptionSet options, List<Step> filling, List<Step> workload, long seed) {
    List<CrashPoint> points = new ArrayList<>();
    TrackedStore store =
        new TrackedStore(new CrashableStorage(), options, new ManualClock(1_000), disguise);
    String what = options + ", " + workload + (filling.isEmpty() ? "" : " after filling");
    failures.check(
        what,
        store.storage(),
        () -> {
          Consumer<CrashableStorage> watcher =
              moment -> points.add(new CrashPoint(moment, store.promise()));
          if (filling.isEmpty() && workload.isEmpty()) {
            store.watch(watcher);
          }
          store.open();
          filling.forEach(step -> assertTrue(store.run(step), step + " of the filling"));
          store.watch(watcher);
          workload.forEach(step -> assertTrue(store.run(step), step::toString));
          points.add(new CrashPoint(store.storage().moment(), store.promise()));
          store.checkReads();
        });
    store.abandon();
    crash(what, options, points, seed);
  }

  /**
   * Crashes a workload in which one operation of the storage fails. Steps may fail then, and a
   * store that has failed is opened again.
   *
   * @param at which operation, from the first step on
   */
  void runFaulty(OptionSet options, List<Step> workload, Fault fault, int at, long seed) {
    List<CrashPoint> points = new ArrayList<>();
    CrashableStorage storage = new CrashableStorage();
    TrackedStore store = new TrackedStore(storage, options, new ManualClock(1_000), disguise);
    String what = options + ", " + workload + ", " + fault + " at " + at;
    failures.check(
        what,
        storage,
        () -> {
          store.open();
          store.expect(fault, /* lasts= */ false);
          storage.failAt(at, fault, /* sticky= */ false);
          store.watch(moment -> points.add(new CrashPoint(moment, store.promise())));
          for (Step step : workload) {
            runOrReopen(store, step);
          }
          storage.clearFaults();
          points.add(new CrashPoint(store.storage().moment(), store.promise()));
          store.checkReads();
        });
    store.abandon();
    crash(what, options, points, seed);
  }

  private static void runOrReopen(TrackedStore store, Step step) {
    try {
      store.run(step);
    } catch (StorageException | StoreFailedException | CorruptionException e) {
      // Only opening throws.
      assertFalse(store.isOpen(), e::toString);
    }
    if (!store.isOpen() || store.hasFailed()) {
      store.run(Step.KILL);
    }
  }

  /** Tries what may be left at each point; {@code points} are moments of one run. */
  public void crash(String what, OptionSet options, List<CrashPoint> points, long seed) {
    Map<ByteBuffer, Found> known = new HashMap<>();
    random = new Random(choice + 31 * seed);
    for (int i = 0; i < points.size(); i++) {
      crash(what + ", crash " + i, options, points.get(i), known, seed + i);
    }
  }

  private void crash(
      String what, OptionSet options, CrashPoint point, Map<ByteBuffer, Found> known, long seed) {
    CrashSpace space = point.storage().crashSpace(effort.statesMax(), effort.samples(), seed);
    crashPoints++;
    exhaustivePoints += space.isExhaustive() ? 1 : 0;
    for (int i : chosen(space.size(), effort.chosen())) {
      SortedMap<String, byte[]> files = space.get(i);
      ByteBuffer identity = identity(files, point.promise().nowMillis());
      CrashableStorage after = CrashableStorage.holding(files);
      failures.check(
          what + ", state " + i + (space.isExhaustive() ? "" : " of seed " + seed),
          after,
          () -> {
            Found found = known.get(identity);
            if (found == null) {
              states++;
              // Whether a recovery is crashed depends on the state alone, not on what was tried.
              long stateSeed = identity.getLong(0);
              boolean crashesRecovery =
                  Math.floorMod(stateSeed, (long) effort.recoveryInterval()) == 0;
              List<CrashableStorage> moments = new ArrayList<>();
              found = open(options, after, point.promise(), crashesRecovery ? moments : null);
              known.put(identity, found);
              CrashPromise same =
                  new CrashPromise(
                      point.promise().nowMillis(), List.of(found.content()), Set.of(found.names()));
              crashRecovery(options, moments, known, same, stateSeed);
            } else {
              point.promise().check(found);
            }
          });
    }
  }

  /** Indices below {@code size}, in their order. */
  private int[] chosen(int size, int count) {
    if (size <= count) {
      return IntStream.range(0, size).toArray();
    }
    Set<Integer> chosen = new TreeSet<>(List.of(0, size - 1));
    while (chosen.size() < count) {
      chosen.add(random.nextInt(size));
    }
    return chosen.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Opens a state, compares it with the promise, uses it, closes it and opens it again. */
  public static void check(OptionSet options, CrashableStorage after, CrashPromise promise) {
    open(options, after, promise, null);
  }

  /**
   * As {@link #check}; what it held at first.
   *
   * @param moments collects the crash points of the recovery when not null
   */
  private static Found open(
      OptionSet options,
      CrashableStorage after,
      CrashPromise promise,
      @Nullable List<CrashableStorage> moments) {
    ManualClock clock = new ManualClock(promise.nowMillis());
    TrackedStore recovered = new TrackedStore(after, options, clock, plain -> plain);
    if (moments != null) {
      after.watch(moments::add);
    }
    recovered.open();
    after.watch(null);
    Found found = Found.in(recovered.engine());
    promise.check(found);
    recovered.settleOn(found);
    recovered.checkReads();
    assertTrue(recovered.run(Step.PUT), "a write after recovery");
    assertTrue(recovered.close(), "a close after recovery");
    TrackedStore again = new TrackedStore(after.crashSyncedOnly(), options, clock, plain -> plain);
    again.open();
    Found foundAgain = Found.in(again.engine());
    String expected = recovered.current().text(clock.millis());
    assertEquals(expected, foundAgain.content().text(clock.millis()), "content after a close");
    assertEquals(found.names(), foundAgain.names(), "keyspaces after a close");
    assertTrue(again.close(), "the second close");
    return found;
  }

  /** What a recovery that is crashed leaves, at each of its moments, leads to what it led to. */
  private void crashRecovery(
      OptionSet options,
      List<CrashableStorage> moments,
      Map<ByteBuffer, Found> known,
      CrashPromise same,
      long seed) {
    for (int i = 0; i < moments.size(); i++) {
      CrashSpace space =
          moments.get(i).crashSpace(effort.recoveryStatesMax(), effort.recoverySamples(), seed + i);
      recoveryCrashPoints++;
      exhaustiveRecoveryPoints += space.isExhaustive() ? 1 : 0;
      for (int state : chosen(space.size(), effort.recoveryChosen())) {
        SortedMap<String, byte[]> files = space.get(state);
        ByteBuffer identity = identity(files, same.nowMillis());
        Found found = known.get(identity);
        if (found == null) {
          recoveryStates++;
          known.put(identity, open(options, CrashableStorage.holding(files), same, null));
        } else {
          same.check(found);
        }
      }
    }
  }

  private static ByteBuffer identity(SortedMap<String, byte[]> files, long nowMillis) {
    try {
      MessageDigest digest = MessageDigest.getInstance("MD5");
      digest.update(ByteBuffer.allocate(8).putLong(0, nowMillis));
      files.forEach(
          (name, bytes) -> {
            digest.update(name.getBytes(UTF_8));
            digest.update(ByteBuffer.allocate(4).putInt(0, bytes.length));
            digest.update(bytes);
          });
      return ByteBuffer.wrap(digest.digest());
    } catch (NoSuchAlgorithmException e) {
      throw new AssertionError(e);
    }
  }
}
