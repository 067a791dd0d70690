package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class IncrementTest {
  private static final byte[] KEY = "hits".getBytes(UTF_8);

  private final ManualClock clock = new ManualClock(1_000);
  private final CrashableStorage storage = new CrashableStorage();
  private KvStore store = open(storage);

  @AfterEach
  void close() {
    store.close();
  }

  @Test
  void absentCountsAsZero() {
    assertEquals(0, store.increment(KEY, 0));
    assertEquals(5, store.increment(KEY, 5));
    assertEquals(-2, store.increment(KEY, -7));
    store.delete(KEY);
    assertEquals(1, store.increment(KEY, 1));
  }

  @Test
  void aCounterIsEightBytesBigEndian() {
    store.put(KEY, ByteBuffer.allocate(8).putLong(0x0102030405060708L).array());
    assertEquals(0x0102030405060709L, store.increment(KEY, 1));
    assertEquals(-3, store.increment(KEY, -3 - 0x0102030405060709L));
    assertArrayEquals(ByteBuffer.allocate(8).putLong(-3).array(), store.get(KEY));
  }

  @Test
  void keyspacesHaveCountersOfTheirOwn() {
    KvView view = store.in(store.keyspace("counters"));
    store.increment(KEY, 10);
    assertEquals(1, view.increment(KEY, 1));
    assertEquals(11, store.increment(KEY, 1));
    store.dropKeyspace(store.keyspace("counters"));
    assertThrows(IllegalStateException.class, () -> view.increment(KEY, 1));
  }

  @Test
  void whatIsNoCounterStaysAsItIs() {
    for (int length : new int[] {0, 7, 9}) {
      byte[] value = new byte[length];
      store.put(KEY, value);
      assertThrows(IllegalArgumentException.class, () -> store.increment(KEY, 1));
      assertArrayEquals(value, store.get(KEY));
    }
  }

  @Test
  void overflowWritesNothing() {
    store.increment(KEY, Long.MAX_VALUE);
    long commits = store.stats().commits();
    assertThrows(ArithmeticException.class, () -> store.increment(KEY, 1));
    assertEquals(commits, store.stats().commits());
    assertEquals(Long.MAX_VALUE, store.increment(KEY, 0));
    assertEquals(-1, store.increment(KEY, Long.MIN_VALUE));
    assertEquals(Long.MIN_VALUE, store.increment(KEY, Long.MIN_VALUE + 1));
    assertThrows(ArithmeticException.class, () -> store.increment(KEY, -1));
  }

  @Test
  void theTimeToLiveIsGone() {
    store.put(KEY, new byte[8], Duration.ofMillis(10));
    assertEquals(1, store.increment(KEY, 1));
    clock.advance(20);
    assertEquals(2, store.increment(KEY, 1));
    store.put(KEY, new byte[8], Duration.ofMillis(10));
    clock.advance(20);
    assertEquals(3, store.increment(KEY, 3));
  }

  @Test
  void survivesAReopening() {
    store.increment(KEY, 41);
    store.close();
    store = open(storage.crashKeepingAll());
    assertEquals(42, store.increment(KEY, 1));
  }

  @Test
  void badKeysAndClosedStoresAreRefused() {
    assertThrows(LimitExceededException.class, () -> store.increment(new byte[0], 1));
    assertThrows(LimitExceededException.class, () -> store.increment(new byte[65_536], 1));
    store.close();
    assertThrows(StoreClosedException.class, () -> store.increment(KEY, 1));
  }

  @Test
  void everyOneOfManyAtOnceCounts() throws Exception {
    int threads = 8;
    int each = 300;
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    Set<Long> seen = new HashSet<>();
    try {
      List<Future<List<Long>>> results = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        results.add(
            pool.submit(
                () -> {
                  List<Long> sums = new ArrayList<>();
                  for (int n = 0; n < each; n++) {
                    sums.add(store.increment(KEY, 1));
                    store.put("other".getBytes(UTF_8), new byte[n]);
                  }
                  return sums;
                }));
      }
      for (Future<List<Long>> result : results) {
        seen.addAll(result.get());
      }
    } finally {
      pool.shutdownNow();
    }
    assertEquals(threads * each, seen.size());
    assertEquals((long) threads * each, store.increment(KEY, 0));
  }

  private KvStore open(CrashableStorage on) {
    return new OpenStore(
        StorageEngine.open(
            Engines.config(
                on, CommitSync.EVERY_COMMIT, clock, new Random(1), new ThreadScheduler(1))));
  }
}
