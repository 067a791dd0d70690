package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Small histories of concurrent transactions, each drawn from a seed, which repeats what they do
 * and not how they meet. Each commits values of its own. Afterwards all orders are tried for one in
 * which every transaction, run alone, would have read what it has read, that keeps those apart
 * which were not concurrent, and that ends in what the store holds.
 */
@Tag("compiled")
final class SerializabilityTest {
  private static final int KEYS = 4;
  private static final int THREADS = 3;
  private static final int EACH = 3;

  /** A step of a transaction: a read of a key or of all, with what it found, or a write. */
  private record Step(String key, @Nullable String value, boolean write) {}

  /** A transaction that committed; times come from one counter. */
  private record Committed(List<Step> steps, long began, long ended) {}

  @Test
  void everyHistoryHasASerialOrder() {
    Seeds.some(
        SerializabilityTest.class,
        "everyHistoryHasASerialOrder",
        500,
        50,
        SerializabilityTest::check);
  }

  @Test
  void canaryWriteSkewHasNone() {
    Step readA = new Step("a", null, false);
    Step readB = new Step("b", null, false);
    Committed one = new Committed(List.of(readA, new Step("b", "1", true)), 0, 2);
    Committed other = new Committed(List.of(readB, new Step("a", "2", true)), 1, 3);
    Map<String, String> end = Map.of("a", "2", "b", "1");
    assertFalse(isSerializable(List.of(one, other), end));
    Committed later = new Committed(List.of(readB, new Step("a", "2", true)), 3, 4);
    assertFalse(isSerializable(List.of(one, later), end));
    Committed fresh =
        new Committed(List.of(new Step("b", "1", false), new Step("a", "2", true)), 3, 4);
    assertTrue(isSerializable(List.of(one, fresh), end));
    assertFalse(isSerializable(List.of(one, fresh), Map.of("a", "2")));
  }

  private static void check(long seed) {
    Random random = new Random(seed);
    StorageEngine engine =
        StorageEngine.open(
            Engines.randomConfig(
                new CrashableStorage(),
                CommitSync.ON_DEMAND,
                new ManualClock(1_000),
                random,
                new ThreadScheduler(1)));
    try (KvStore store = new OpenStore(engine)) {
      List<Committed> history = history(store, random);
      Map<String, String> end = new TreeMap<>();
      try (KvCursor cursor = store.cursor()) {
        while (cursor.next()) {
          end.put(text(cursor.key()), text(cursor.value()));
        }
      }
      assertTrue(isSerializable(history, end), () -> history + " ends in " + end);
      assertEquals(0, store.stats().openSnapshots());
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private static List<Committed> history(KvStore store, Random random) throws Exception {
    AtomicLong time = new AtomicLong();
    CyclicBarrier start = new CyclicBarrier(THREADS);
    ExecutorService pool = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<List<Committed>>> threads = new ArrayList<>();
      for (int i = 0; i < THREADS; i++) {
        Random own = new Random(random.nextLong());
        String name = "t" + i;
        threads.add(
            pool.submit(
                () -> {
                  start.await();
                  List<Committed> committed = new ArrayList<>();
                  for (int n = 0; n < EACH; n++) {
                    Committed one = transaction(store, own, time, name + n);
                    if (one != null) {
                      committed.add(one);
                    }
                    if (own.nextInt(4) == 0) {
                      store.flush();
                    }
                  }
                  return committed;
                }));
      }
      List<Committed> history = new ArrayList<>();
      for (Future<List<Committed>> thread : threads) {
        history.addAll(thread.get());
      }
      return history;
    } finally {
      pool.shutdownNow();
    }
  }

  private static @Nullable Committed transaction(
      KvStore store, Random random, AtomicLong time, String name) {
    long began = time.incrementAndGet();
    List<Step> steps = new ArrayList<>();
    try (Transaction transaction = store.begin()) {
      for (int i = 1 + random.nextInt(4); i > 0; i--) {
        String key = "k" + random.nextInt(KEYS);
        switch (random.nextInt(5)) {
          case 0 -> steps.add(new Step("*", scan(transaction, random), false));
          case 1, 2 -> {
            byte[] value = transaction.get(key.getBytes(UTF_8));
            steps.add(new Step(key, value == null ? null : text(value), false));
          }
          case 3 -> {
            transaction.delete(key.getBytes(UTF_8));
            steps.add(new Step(key, null, true));
          }
          default -> {
            String value = name + "." + i;
            transaction.put(key.getBytes(UTF_8), value.getBytes(UTF_8));
            steps.add(new Step(key, value, true));
          }
        }
        // Takes a while, in which others go on.
        store.stats();
      }
      transaction.commit();
      return new Committed(steps, began, time.incrementAndGet());
    } catch (ConflictException e) {
      return null;
    }
  }

  private static String scan(Transaction transaction, Random random) {
    Map<String, String> found = new TreeMap<>();
    ScanOptions all = ScanOptions.all();
    try (KvCursor cursor = transaction.cursor(random.nextBoolean() ? all : all.reverse())) {
      while (cursor.next()) {
        found.put(text(cursor.key()), text(cursor.value()));
      }
    }
    return found.toString();
  }

  private static boolean isSerializable(List<Committed> history, Map<String, String> end) {
    return search(history, new boolean[history.size()], 0, new TreeMap<>(), end);
  }

  /** Tries as the next one each transaction that no remaining one must precede. */
  private static boolean search(
      List<Committed> history,
      boolean[] used,
      int count,
      TreeMap<String, String> state,
      Map<String, String> end) {
    if (count == history.size()) {
      return state.equals(end);
    }
    for (int i = 0; i < used.length; i++) {
      if (used[i] || !mayComeNext(history, used, i)) {
        continue;
      }
      TreeMap<String, String> after = new TreeMap<>(state);
      if (explains(history.get(i).steps(), after)) {
        used[i] = true;
        if (search(history, used, count + 1, after, end)) {
          return true;
        }
        used[i] = false;
      }
    }
    return false;
  }

  private static boolean mayComeNext(List<Committed> history, boolean[] used, int next) {
    for (int i = 0; i < used.length; i++) {
      if (!used[i] && i != next && history.get(i).ended() < history.get(next).began()) {
        return false;
      }
    }
    return true;
  }

  /** Runs the steps on a state; whether the reads find what they have found. */
  private static boolean explains(List<Step> steps, TreeMap<String, String> state) {
    for (Step step : steps) {
      if (step.write()) {
        if (step.value() == null) {
          state.remove(step.key());
        } else {
          state.put(step.key(), Objects.requireNonNull(step.value()));
        }
      } else {
        String found = step.key().equals("*") ? state.toString() : state.get(step.key());
        if (!Objects.equals(found, step.value())) {
          return false;
        }
      }
    }
    return true;
  }

  private static String text(byte[] bytes) {
    return new String(bytes, UTF_8);
  }
}
