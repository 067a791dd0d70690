package io.kvsep.internal.write;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.CrashPromise;
import io.kvsep.internal.engine.CrashSweep;
import io.kvsep.internal.engine.CrashSweep.CrashPoint;
import io.kvsep.internal.engine.CrashSweep.Effort;
import io.kvsep.internal.engine.OptionSet;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.StoreContent;
import io.kvsep.internal.io.Storage;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.LyingStorage;
import io.kvsep.testing.LyingStorage.Lie;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Several threads whose commits share writes and syncs, with the power failing at each storage
 * operation. The order is fixed: in every round one writer is held in its first storage operation
 * until the others stand in the queue, one behind the other; so it commits alone, and they commit
 * together after it. What is left has to be a prefix of that order, with everything in it whose
 * writer was told that it is synced.
 */
final class GroupCrashTest {
  private static final Effort EXHAUSTIVE = new Effort(300, 20, 40, 60, 4);

  private static final Effort EFFORT = Sample.EXHAUSTIVE ? EXHAUSTIVE : EXHAUSTIVE.choosing(4, 2);

  private static final int RUNS = 200;

  /** Of a short run. */
  private static final int DRAWN = 4;

  private static final int ROUNDS = 4;
  private static final long DEADLINE_NANOS = TimeUnit.SECONDS.toNanos(60);

  /** One commit of one thread. */
  private record Commit(BatchWrites buffer, boolean synced) {}

  /** A run, in which one thread at a time writes to the storage. */
  private static final class Run {
    final Random random;
    final CrashableStorage storage = new CrashableStorage();
    final StorageEngine engine;
    final List<CrashPoint> points = new ArrayList<>();

    /** What each commit leaves, in their order; the first is the empty store. */
    final List<StoreContent> order = new ArrayList<>(List.of(StoreContent.EMPTY));

    /** How many of them may be in the storage. */
    int begun;

    /** The last of them that its writer, or a later one, knows to be synced. */
    volatile int synced;

    volatile int acknowledged;
    int number;

    Run(long seed, OptionSet options, UnaryOperator<Storage> disguise) {
      random = new Random(seed);
      ManualScheduler scheduler = new ManualScheduler(seed, 1);
      engine =
          StorageEngine.open(
              options.config(disguise.apply(storage), new ManualClock(1_000), scheduler));
    }

    void go() throws InterruptedException {
      for (int round = 0; round < ROUNDS; round++) {
        round(2 + random.nextInt(2));
        if (random.nextInt(3) == 0) {
          storage.watch(this::note);
          engine.flush();
          synced = order.size() - 1;
        }
      }
      note(storage.moment());
    }

    /** One leads alone, the others form the next group. */
    private void round(int followerCount) throws InterruptedException {
      int before = order.size() - 1;
      acknowledged = before;
      begun = before + 1;
      Commit first = commit();
      List<Commit> others = new ArrayList<>();
      for (int i = 0; i < followerCount; i++) {
        others.add(commit());
      }
      Thread leader = new Thread(() -> write(first, before + 1));
      List<Thread> followers = new ArrayList<>();
      int last = order.size() - 1;
      for (Commit other : others) {
        followers.add(new Thread(() -> write(other, last)));
      }
      storage.watch(
          moment -> {
            if (Thread.currentThread() != leader) {
              await(() -> acknowledged > before);
              begun = last;
            } else if (followers.get(0).getState() == Thread.State.NEW) {
              for (Thread follower : followers) {
                follower.start();
                await(() -> follower.getState() == Thread.State.WAITING);
              }
            }
            note(moment);
          });
      leader.start();
      leader.join(TimeUnit.NANOSECONDS.toMillis(DEADLINE_NANOS));
      for (Thread follower : followers) {
        follower.join(TimeUnit.NANOSECONDS.toMillis(DEADLINE_NANOS));
      }
      assertEquals(last, acknowledged, "every writer was answered");
      storage.watch(null);
    }

    private void note(CrashableStorage moment) {
      List<StoreContent> allowed = order.subList(synced, begun + 1);
      points.add(new CrashPoint(moment, new CrashPromise(1_000, allowed, Set.of(""))));
    }

    /**
     * @param place of the last commit of its group: a sync covers all of them
     */
    private void write(Commit commit, int place) {
      CommitSync when = commit.synced() ? CommitSync.EVERY_COMMIT : CommitSync.ON_DEMAND;
      engine.writes().write(commit.buffer(), when);
      told(commit.synced() ? place : 0, place);
    }

    private synchronized void told(int syncedNow, int acknowledgedNow) {
      synced = Math.max(synced, syncedNow);
      acknowledged = Math.max(acknowledged, acknowledgedNow);
    }

    private Commit commit() {
      BatchWrites buffer = new BatchWrites();
      StoreContent next = order.get(order.size() - 1);
      int kind = random.nextInt(5);
      int count = kind == 0 ? 3 : 1;
      for (int i = 0; i < count; i++) {
        byte[] value = new byte[kind == 1 ? 1_300 : 20 + random.nextInt(200)];
        random.nextBytes(value);
        String key = "key-" + number++ % 7;
        buffer.put(0, key.getBytes(UTF_8), value, 0);
        next = next.with(0, key, value, Long.MAX_VALUE);
      }
      if (kind == 2) {
        String gone = "key-" + random.nextInt(7);
        buffer.delete(0, gone.getBytes(UTF_8));
        next = next.without(0, gone);
      }
      order.add(next);
      return new Commit(buffer, random.nextInt(3) == 0);
    }
  }

  private interface Condition {
    boolean holds();
  }

  private static void await(Condition condition) {
    long deadline = System.nanoTime() + DEADLINE_NANOS;
    while (!condition.holds()) {
      if (System.nanoTime() > deadline) {
        throw new AssertionError("the threads do not get on");
      }
      LockSupport.parkNanos(20_000);
    }
  }

  @Test
  void whatWritersCommitTogetherIsAPrefixAfterEveryCrash() {
    int[] states = new int[1];
    Seeds.some(
        GroupCrashTest.class,
        "whatWritersCommitTogetherIsAPrefixAfterEveryCrash",
        RUNS,
        DRAWN,
        seed -> {
          CrashSweep sweep = swept(seed, null);
          sweep.failures().report();
          states[0] += sweep.states();
        });
    if (Sample.EXHAUSTIVE) {
      System.out.println("groups: " + states[0] + " states");
    }
    assertTrue(states[0] > 100 || Long.getLong("kvsep.seed") != null, "only " + states[0]);
  }

  @Test
  void canaryAWriterThatIsToldTooEarlyIsNoticed() {
    for (long draw = 1; draw <= 3; draw++) {
      boolean noticed =
          Seeds.drawn(RUNS, DRAWN, draw).stream()
              .anyMatch(seed -> swept(seed, Lie.SYNC_LEFT_OUT).failures().failureCount() > 0);
      assertTrue(noticed, "syncs of the log that were left out went unnoticed, draw " + draw);
    }
  }

  private static CrashSweep swept(long seed, @Nullable Lie lie) {
    OptionSet[] all = {OptionSet.SEPARATED, OptionSet.INLINE, OptionSet.LOG_ONLY};
    OptionSet options = all[(int) (seed % all.length)];
    UnaryOperator<Storage> disguise =
        lie == null
            ? plain -> plain
            : plain -> new LyingStorage(plain, lie, (op, kind) -> op == Operation.SYNC);
    Run run = new Run(seed, options, disguise);
    CrashSweep sweep = new CrashSweep(EFFORT);
    try {
      run.go();
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    } finally {
      run.engine.close();
    }
    assertEquals(0, run.engine.memoryBytes());
    sweep.crash(options + ", groups of seed " + seed, options, run.points, seed);
    return sweep;
  }
}
