package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Sample;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Stores that share memory and threads. */
final class KvResourcesTest {
  private static final long MIB = 1 << 20;
  private static final int WRITERS = 4;

  @TempDir Path directory;

  private static KvResources resources(long budgetMebibytes) {
    return KvResources.builder()
        .memoryBudgetBytes(budgetMebibytes * MIB)
        .backgroundThreads(2)
        .build();
  }

  private static KvOptions.Builder sharing(KvResources resources) {
    return KvOptions.builder().resources(resources);
  }

  private static long bytes(KvResources resources) {
    return resources.memoryBytes().values().stream().mapToLong(Long::longValue).sum();
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(4).putInt(i).array();
  }

  private static Set<Thread> storeThreads() {
    Thread[] all = new Thread[Thread.activeCount() + 100];
    int count = Thread.enumerate(all);
    return Arrays.stream(all, 0, count)
        .filter(thread -> thread.getName().startsWith("kvsep-"))
        .collect(Collectors.toSet());
  }

  @Test
  void theDefaultsAreThoseOfAStore() {
    try (KvResources resources = KvResources.builder().build()) {
      assertEquals(KvOptions.defaults().memoryBudgetBytes(), resources.memoryBudgetBytes());
      assertEquals(KvOptions.defaults().backgroundThreads(), resources.backgroundThreads());
      assertEquals(0, bytes(resources));
      assertNull(KvOptions.defaults().resources());
    }
  }

  @Test
  void optionsWithResourcesHaveTheirBudgetAndThreads() {
    try (KvResources resources = resources(17)) {
      KvOptions options = sharing(resources).build();
      assertSame(resources, options.resources());
      assertEquals(17 * MIB, options.memoryBudgetBytes());
      assertEquals(2, options.backgroundThreads());
    }
  }

  @Test
  void whatIsGivenBesideTheResourcesIsAProblem() {
    try (KvResources resources = resources(16)) {
      KvOptions.Builder builder =
          sharing(resources)
              .memoryBudgetBytes(64 * MIB)
              .backgroundThreads(3)
              .spaceAmplificationMax(0);
      Exception e = assertThrows(IllegalArgumentException.class, builder::build);
      for (String option : List.of("memoryBudgetBytes", "backgroundThreads", "spaceAmpl")) {
        assertTrue(String.valueOf(e.getMessage()).contains(option), e.getMessage());
      }
      builder.resources(null).spaceAmplificationMax(2).build();
    }
  }

  @Test
  void problemsOfResourcesAreNamedTogether() {
    KvResources.Builder builder = KvResources.builder().memoryBudgetBytes(1).backgroundThreads(0);
    Exception e = assertThrows(IllegalArgumentException.class, builder::build);
    assertTrue(String.valueOf(e.getMessage()).contains("memoryBudgetBytes"), e.getMessage());
    assertTrue(String.valueOf(e.getMessage()).contains("backgroundThreads"), e.getMessage());
  }

  @Test
  void resourcesInUseAreNotClosed() {
    KvResources resources = resources(16);
    KvOptions options = sharing(resources).build();
    KvStore one = KvStore.open(directory.resolve("one"), options);
    KvStore other = KvStore.open(directory.resolve("other"), options);
    one.close();
    assertThrows(IllegalStateException.class, resources::close);
    other.put(key(1), key(2));
    other.flush();
    assertArrayEquals(key(2), other.get(key(1)));
    other.close();
    assertEquals(0, bytes(resources));
    resources.close();
    resources.close();
    assertThrows(
        IllegalStateException.class, () -> KvStore.open(directory.resolve("one"), options));
  }

  @Test
  void moreStoresThanTheBudgetSufficesForAreRefused() {
    try (KvResources resources = resources(16)) {
      KvOptions options = sharing(resources).build();
      List<KvStore> stores = new ArrayList<>();
      for (int i = 0; i < 16; i++) {
        stores.add(OpenStore.open(new CrashableStorage(), options));
      }
      Path late = directory.resolve("late");
      assertThrows(IllegalStateException.class, () -> KvStore.open(late, options));
      stores.remove(7).close();
      stores.add(KvStore.open(late, options));
      stores.forEach(KvStore::close);
    }
  }

  @Test
  void aStoreThatCannotBeOpenedUsesNothing() {
    try (KvResources resources = resources(16)) {
      KvOptions options = sharing(resources).createIfMissing(false).build();
      assertThrows(RuntimeException.class, () -> KvStore.open(directory, options));
      assertEquals(0, bytes(resources));
    }
  }

  /** A value of each of many stores; its last bytes are the number of the last write. */
  private static void fill(KvStore store, int number, int writes, Random random) {
    for (int i = 0; i < writes; i++) {
      byte[] value = new byte[random.nextInt(300)];
      Arrays.fill(value, (byte) (number + i));
      store.put(key(i), value);
    }
  }

  private static void requireFilled(KvStore store, int number, int writes, Random random) {
    for (int i = 0; i < writes; i++) {
      byte[] value = new byte[random.nextInt(300)];
      Arrays.fill(value, (byte) (number + i));
      assertArrayEquals(value, store.get(key(i)));
    }
  }

  @Test
  void manyStoresKeepToOneBudgetAndFewThreads() throws Exception {
    int count = Sample.EXHAUSTIVE ? 200 : 60;
    int writes = Sample.EXHAUSTIVE ? 20_000 : 2_000;
    Set<Thread> before = storeThreads();
    try (KvResources resources = resources(count + 56)) {
      KvOptions options = sharing(resources).durability(Durability.none()).build();
      List<KvStore> stores = opened(count, options);
      AtomicLong bytesMost = new AtomicLong();
      AtomicInteger threadsMost = new AtomicInteger();
      AtomicInteger next = new AtomicInteger();
      inParallel(
          WRITERS,
          () -> {
            for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
              fill(stores.get(i), i, writes, new Random(i));
              bytesMost.accumulateAndGet(bytes(resources), Math::max);
              Set<Thread> now = storeThreads();
              now.removeAll(before);
              threadsMost.accumulateAndGet(now.size(), Math::max);
            }
            return null;
          });
      assertTrue(bytesMost.get() <= resources.memoryBudgetBytes(), bytesMost + " bytes");
      assertTrue(threadsMost.get() <= 2 + 8, threadsMost + " threads");
      stores.forEach(KvStore::close);
      assertEquals(0, bytes(resources));
      List<KvStore> again = opened(count, options);
      for (int i = 0; i < count; i++) {
        requireFilled(again.get(i), i, writes, new Random(i));
      }
      again.forEach(KvStore::close);
    }
  }

  private List<KvStore> opened(int count, KvOptions options) {
    List<KvStore> stores = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      stores.add(KvStore.open(directory.resolve("store-" + i), options));
    }
    return stores;
  }

  private static void inParallel(int threads, Callable<?> work) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      List<Future<?>> results = new ArrayList<>();
      for (int i = 0; i < threads; i++) {
        results.add(pool.submit(work));
      }
      for (Future<?> result : results) {
        result.get();
      }
    } finally {
      pool.shutdownNow();
    }
  }

  /** Its writer, flushes, compactions and reclaim want all memory and threads all the time. */
  @Test
  void aStoreThatIsOverwrittenAllTheTimeStarvesNoOther() throws Exception {
    try (KvResources resources = resources(16)) {
      KvOptions options = sharing(resources).durability(Durability.none()).build();
      try (KvStore busy = KvStore.open(directory.resolve("busy"), options);
          KvStore other = KvStore.open(directory.resolve("other"), options)) {
        AtomicBoolean ends = new AtomicBoolean();
        CountDownLatch stalled = new CountDownLatch(1);
        ExecutorService pool = Executors.newSingleThreadExecutor();
        Future<?> overwriting =
            pool.submit(
                () -> {
                  for (int i = 0; !ends.get(); i++) {
                    overwrite(busy, i);
                    if (busy.stats().flushes() > 0) {
                      stalled.countDown();
                    }
                  }
                });
        stalled.await();
        int rounds = 4;
        int writes = 20_000;
        for (int round = 0; round < rounds; round++) {
          fill(other, round, writes, new Random(round));
          other.flush();
          requireFilled(other, round, writes, new Random(round));
        }
        other.compact();
        assertTrue(other.stats().flushes() > rounds);
        assertFalse(overwriting.isDone());
        assertTrue(bytes(resources) <= resources.memoryBudgetBytes());
        ends.set(true);
        overwriting.get();
        pool.shutdown();
      }
    }
  }

  private static void overwrite(KvStore store, int round) {
    WriteBatch batch = new WriteBatch();
    for (int i = 0; i < 1_000; i++) {
      batch.put(key(i * 31 + round % 31), new byte[100]);
    }
    store.write(batch);
  }

  /** It holds as much as it was granted until there is space for its tables. */
  @Test
  void aStoreThatCannotFlushStarvesNoOther() throws Exception {
    CrashableStorage full = new CrashableStorage();
    try (KvResources resources = resources(16)) {
      KvOptions options = sharing(resources).durability(Durability.none()).build();
      KvStore stuck = OpenStore.open(full, options);
      fill(stuck, 1, 10, new Random(1));
      full.failAt(
          1,
          Fault.ENOSPC,
          /* sticky= */ true,
          (operation, name) ->
              operation == Operation.CREATE && StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE);
      assertThrows(
          StorageException.class,
          () -> {
            while (true) {
              overwrite(stuck, 1);
            }
          });
      try (KvStore other = KvStore.open(directory.resolve("other"), options)) {
        fill(other, 2, 50_000, new Random(2));
        other.flush();
        requireFilled(other, 2, 50_000, new Random(2));
      }
      full.clearFaults();
      stuck.close();
    }
  }
}
