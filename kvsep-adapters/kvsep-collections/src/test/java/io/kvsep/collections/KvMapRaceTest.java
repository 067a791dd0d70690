package io.kvsep.collections;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Calls of several threads at once on the same keys. */
final class KvMapRaceTest {
  private static final int THREADS = 4;
  private static final int ROUNDS = 2_000;
  private static final int KEYS = 5;

  private final KvStore store = KvStore.inMemory();
  private final KvMap<Integer, Long> counters = KvMap.open(store, Codecs.int32(), Codecs.int64());

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void noAdditionIsLost() throws Exception {
    inThreads(
        thread -> {
          for (int i = 0; i < ROUNDS; i++) {
            add(thread + i, i % KEYS);
          }
        });

    long sum = counters.values().stream().mapToLong(Long::longValue).sum();
    assertEquals((long) THREADS * ROUNDS, sum);
  }

  private void add(int way, int key) {
    switch (way % 4) {
      case 0 -> counters.merge(key, 1L, Long::sum);
      case 1 -> counters.compute(key, (same, count) -> count == null ? 1 : count + 1);
      case 2 -> {
        counters.computeIfAbsent(key, same -> 0L);
        counters.computeIfPresent(key, (same, count) -> count + 1);
      }
      default -> {
        while (true) {
          Long count = counters.get(key);
          if (count == null
              ? counters.putIfAbsent(key, 1L) == null
              : counters.replace(key, count, count + 1)) {
            return;
          }
        }
      }
    }
  }

  @Test
  void eachElementIsPolledOnce() throws Exception {
    KvSet<Integer> queue = KvSet.open(store, Codecs.int32());
    IntStream.range(0, ROUNDS).forEach(queue::add);
    Set<Integer> polled = ConcurrentHashMap.newKeySet();
    inThreads(
        thread -> {
          Integer next;
          while ((next = thread % 2 == 0 ? queue.pollFirst() : queue.pollLast()) != null) {
            assertTrue(polled.add(next));
          }
        });

    assertEquals(ROUNDS, polled.size());
    assertTrue(queue.isEmpty());
  }

  @Test
  void eachPutIsReplacedOnce() throws Exception {
    Set<Long> replaced = ConcurrentHashMap.newKeySet();
    inThreads(
        thread -> {
          for (int i = 0; i < ROUNDS / 4; i++) {
            Long former = counters.put(0, (long) thread * ROUNDS + i);
            assertTrue(former == null || replaced.add(former));
          }
        });

    assertTrue(replaced.add(counters.remove(0)));
    assertEquals(THREADS * (ROUNDS / 4), replaced.size());
  }

  /** Iterators go on while other threads write, and always see what does not change. */
  @Test
  void iteratorsSeeWhatStays() throws Exception {
    IntStream.range(0, ROUNDS).forEach(key -> counters.put(2 * key, 0L));
    inThreads(
        thread -> {
          if (thread < 2) {
            for (int i = 0; i < ROUNDS; i++) {
              counters.put(2 * i + 1, 1L);
              counters.remove(2 * (i / 2) + 1);
            }
          } else {
            for (int i = 0; i < 5; i++) {
              List<Integer> keys = new ArrayList<>(counters.keySet());
              assertEquals(ROUNDS, keys.stream().filter(key -> key % 2 == 0).count());
              assertEquals(keys.stream().sorted().distinct().toList(), keys);
            }
          }
        });
  }

  private static void inThreads(IntConsumer work) throws InterruptedException, ExecutionException {
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    try {
      List<Future<?>> running = new ArrayList<>();
      for (int thread = 0; thread < THREADS; thread++) {
        int number = thread;
        running.add(threads.submit(() -> work.accept(number)));
      }
      for (Future<?> future : running) {
        future.get();
      }
    } finally {
      threads.shutdownNow();
    }
  }
}
