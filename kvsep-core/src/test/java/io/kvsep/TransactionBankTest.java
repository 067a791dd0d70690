package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.internal.concurrent.ThreadScheduler;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.Seeds;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * A bank with accounts in two keyspaces. Threads move money, open accounts and close empty ones,
 * others add everything up, in snapshots, in transactions and through cursors, while memtables are
 * flushed and tables compacted all the time: every sum is right, and so is the number of transfers.
 * A few hundred transfers, or with {@code -Dkvsep.stress.seconds=N} for so long.
 */
final class TransactionBankTest {
  private static final long SECONDS = Long.getLong("kvsep.stress.seconds", 0);
  private static final int ACCOUNTS = 24;
  private static final int TELLERS = 4;
  private static final int TRANSFERS = 250;
  private static final long START = 1_000;
  private static final byte[] TRANSFERRED = "transferred".getBytes(UTF_8);

  private final AtomicLong done = new AtomicLong();
  private final AtomicLong lost = new AtomicLong();
  private final AtomicLong audits = new AtomicLong();

  @Test
  void everySumIsRight() {
    int count = SECONDS > 0 ? 1 : Integer.getInteger("kvsep.seeds", 2);
    Seeds.run(TransactionBankTest.class, "everySumIsRight", 1, count, this::run);
  }

  private void run(long seed) {
    Random random = new Random(seed);
    StorageEngine engine =
        StorageEngine.open(
            Engines.randomConfig(
                new CrashableStorage(),
                CommitSync.ON_DEMAND,
                new ManualClock(1_000),
                random,
                new ThreadScheduler(2)));
    done.set(0);
    try (KvStore store = new OpenStore(engine)) {
      Keyspace savings = store.keyspace("savings");
      WriteBatch first = new WriteBatch();
      for (int i = 0; i < ACCOUNTS; i++) {
        (i % 2 == 0 ? first.inDefault() : first.in(savings)).put(account(i), amount(START));
      }
      store.write(first);
      long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
      runAll(store, savings, random, end);
      assertEquals(done.get(), store.in(savings).increment(TRANSFERRED, 0));
      store.compact();
      audit(store, savings, random);
      assertTrue(done.get() > 0 && audits.get() > 0);
      assertEquals(0, store.stats().openSnapshots());
      assertEquals(0, store.stats().openCursors());
    } catch (InterruptedException e) {
      throw new AssertionError(e);
    }
    if (SECONDS > 0) {
      System.out.println(
          String.format(
              Locale.ROOT,
              "bank for %d s: %d transfers, %d given up, %d audits",
              SECONDS,
              done.get(),
              lost.get(),
              audits.get()));
    }
  }

  private void runAll(KvStore store, Keyspace savings, Random random, long end)
      throws InterruptedException {
    ExecutorService pool = Executors.newFixedThreadPool(TELLERS + 2);
    List<Future<?>> tellers = new ArrayList<>();
    List<Future<?>> others = new ArrayList<>();
    try {
      for (int i = 0; i < TELLERS; i++) {
        Random own = new Random(random.nextLong());
        tellers.add(pool.submit(() -> tell(store, savings, own, end)));
      }
      BooleanSupplier over = () -> tellers.stream().allMatch(Future::isDone);
      Random own = new Random(random.nextLong());
      others.add(
          pool.submit(
              () -> {
                do {
                  audit(store, savings, own);
                } while (!over.getAsBoolean());
              }));
      others.add(
          pool.submit(
              () -> {
                while (!over.getAsBoolean()) {
                  store.flush();
                  store.compact();
                }
              }));
      for (Future<?> each : tellers) {
        each.get();
      }
      for (Future<?> each : others) {
        each.get();
      }
    } catch (ExecutionException e) {
      throw new AssertionError("after " + done.get() + " transfers", e);
    } finally {
      pool.shutdownNow();
      assertTrue(pool.awaitTermination(60, TimeUnit.SECONDS));
    }
  }

  private void tell(KvStore store, Keyspace savings, Random random, long end) {
    for (int i = 0; SECONDS > 0 ? System.nanoTime() < end : i < TRANSFERS; i++) {
      int from = random.nextInt(ACCOUNTS);
      int to = random.nextInt(ACCOUNTS);
      long amount = random.nextInt(200);
      boolean drains = random.nextInt(10) == 0;
      try {
        store.transact(
            transaction -> {
              transfer(transaction, savings, from, to, drains ? Long.MAX_VALUE : amount);
              return true;
            });
        done.incrementAndGet();
      } catch (ConflictException e) {
        lost.incrementAndGet();
      }
    }
  }

  /** An account without money is deleted, and one that is not there has none. */
  private static void transfer(
      Transaction transaction, Keyspace savings, int from, int to, long amount) {
    long available = balance(in(transaction, savings, from).get(account(from)));
    long moved = Math.min(available, amount);
    set(in(transaction, savings, from), account(from), available - moved);
    // Read after the write: the two may be one.
    long other = balance(in(transaction, savings, to).get(account(to)));
    set(in(transaction, savings, to), account(to), other + moved);
    transaction.in(savings).increment(TRANSFERRED, 1);
  }

  /** The accounts of even numbers are in the store's own keyspace. */
  private static KvWriterAndReader in(Transaction transaction, Keyspace savings, int account) {
    return account % 2 == 0
        ? new KvWriterAndReader(transaction, transaction)
        : new KvWriterAndReader(transaction.in(savings), transaction.in(savings));
  }

  private record KvWriterAndReader(KvReader reader, KvWriter writer) {
    byte @Nullable [] get(byte[] key) {
      return reader.get(key);
    }
  }

  private static void set(KvWriterAndReader in, byte[] account, long balance) {
    if (balance == 0) {
      in.writer().delete(account);
    } else {
      in.writer().put(account, amount(balance));
    }
  }

  private void audit(KvStore store, Keyspace savings, Random random) {
    long sum;
    if (random.nextBoolean()) {
      try (Snapshot snapshot = store.snapshot()) {
        sum = sum(snapshot, random) + sum(snapshot.in(savings), random);
      }
    } else {
      try (Transaction transaction = store.begin()) {
        sum = sum(transaction, random) + sum(transaction.in(savings), random);
        transaction.commit();
      }
    }
    assertEquals(ACCOUNTS * START, sum);
    audits.incrementAndGet();
  }

  private static long sum(KvReader reader, Random random) {
    long sum = 0;
    if (random.nextBoolean()) {
      for (int i = 0; i < ACCOUNTS; i++) {
        sum += balance(reader.get(account(i)));
      }
      return sum;
    }
    ScanOptions accounts = ScanOptions.prefix("account".getBytes(UTF_8));
    try (KvCursor cursor = reader.cursor(random.nextBoolean() ? accounts.reverse() : accounts)) {
      while (cursor.next()) {
        sum += balance(cursor.value());
      }
    }
    return sum;
  }

  private static byte[] account(int number) {
    return ("account " + number).getBytes(UTF_8);
  }

  /** Long enough that some of it goes to the log. */
  private static byte[] amount(long balance) {
    return ByteBuffer.allocate(balance % 3 == 0 ? 100 : 8).putLong(balance).array();
  }

  private static long balance(byte @Nullable [] value) {
    return value == null ? 0 : ByteBuffer.wrap(Objects.requireNonNull(value)).getLong();
  }
}
