package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.concurrent.Scheduler;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.Fault;
import io.kvsep.testing.ForwardingScheduler;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Operation;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.Timeout.ThreadMode;

/** A batch of many memtables while there is no room for tables: memory stays bounded. */
@Timeout(value = 60, threadMode = ThreadMode.SEPARATE_THREAD)
final class StuckFlushTest {
  /** Some fifty memtables. */
  private static final int ENTRIES = 5_000;

  private static final int VALUE_BYTES = 40;
  private static final int MEMTABLES_MAX = Engines.TINY.memtables().countMax();

  /** How often a writer finds nothing to wait for until the test does something. */
  private static final int IDLE_MAX = 50;

  /** Does something where a writer waits and no work is to be done. */
  private static final class Idle extends ForwardingScheduler {
    private final ManualScheduler manual;

    /** Whether it did something. */
    private BooleanSupplier whenIdle = () -> false;

    Idle(ManualScheduler manual) {
      super(manual);
      this.manual = manual;
    }

    @Override
    public boolean help() {
      return manual.help() || whenIdle.getAsBoolean();
    }
  }

  private final CrashableStorage storage = new CrashableStorage();
  private final Idle scheduler = new Idle(new ManualScheduler(1, 1));

  /** Memtables that were made; each takes a random number. */
  private final AtomicInteger memtables = new AtomicInteger();

  private long most;
  private int idle;

  @Test
  void theWriterWaitsForRoomAndGoesOn() {
    StorageEngine engine = open(storage, scheduler);
    refuseTables(storage);
    scheduler.whenIdle =
        () -> {
          look(engine);
          if (++idle == IDLE_MAX) {
            storage.clearFaults();
          }
          scheduler.manual.tick();
          return true;
        };
    writeBatch(engine);
    look(engine);
    requireBounded();
    assertTrue(idle >= IDLE_MAX, idle + " times it had to wait");
    check(engine);
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  @Test
  void closingEndsTheWait() {
    StorageEngine engine = open(storage, scheduler);
    refuseTables(storage);
    List<CompletableFuture<Void>> closed = new ArrayList<>();
    scheduler.whenIdle =
        () -> {
          look(engine);
          if (++idle == IDLE_MAX) {
            closed.add(CompletableFuture.runAsync(engine::close));
          } else if (idle < IDLE_MAX) {
            scheduler.manual.tick();
          }
          return idle < IDLE_MAX;
        };
    writeBatch(engine);
    requireBounded();
    assertTrue(idle >= IDLE_MAX, idle + " times it had to wait");
    CompletionException error = assertThrows(CompletionException.class, () -> closed.get(0).join());
    assertInstanceOf(StorageException.class, error.getCause());
    assertEquals(0, engine.memoryBytes());
    // It was said to be written.
    try (StorageEngine recovered = Engines.open(later(), new ManualScheduler(1, 1))) {
      check(recovered);
    }
  }

  @Test
  void anOpenGivesUp() {
    StorageEngine engine = open(storage, scheduler);
    writeBatch(engine);
    CrashableStorage full = storage.crashKeepingAll();
    assertThrows(StorageException.class, engine::close);
    refuseTables(full);
    memtables.set(0);
    assertThrows(StorageException.class, () -> open(full, new ManualScheduler(1, 1)));
    // And the placeholder that the store begins with.
    assertTrue(memtables.get() <= MEMTABLES_MAX + 1, memtables + " memtables");
    full.clearFaults();
    try (StorageEngine recovered = open(full.crashKeepingAll(), new ManualScheduler(1, 1))) {
      check(recovered);
    }
  }

  private StorageEngine open(CrashableStorage from, Scheduler with) {
    Random numbers = new Random(7);
    RandomGenerator random =
        () -> {
          memtables.incrementAndGet();
          return numbers.nextLong();
        };
    return StorageEngine.open(ConfigDraft.of(Engines.config(from, with)).random(random).build());
  }

  private CrashableStorage later() {
    storage.clearFaults();
    return storage.crashKeepingAll();
  }

  private static void refuseTables(CrashableStorage disk) {
    disk.failAt(
        1,
        Fault.ENOSPC,
        /* sticky= */ true,
        (operation, name) ->
            operation == Operation.WRITE && StoreFiles.kindOf(name) == StoreFiles.Kind.TABLE);
  }

  private void look(StorageEngine engine) {
    most = Math.max(most, engine.stats().memoryBytes().getOrDefault("memtable", 0L));
  }

  /** One more than there may be else, with their indexes. */
  private void requireBounded() {
    long bound = (MEMTABLES_MAX + 1) * Engines.TINY.memtables().bytes() * 5 / 4;
    assertTrue(most <= bound, most + " bytes of memtables");
  }

  private static void writeBatch(StorageEngine engine) {
    BatchWrites batch = new BatchWrites();
    for (int i = 0; i < ENTRIES; i++) {
      batch.put(0, key(i), value(i), 0);
    }
    engine.writes().write(batch, null);
  }

  private static void check(StorageEngine engine) {
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
    }
  }

  private static byte[] key(int i) {
    return ByteBuffer.allocate(8).putLong(i).array();
  }

  private static byte[] value(int i) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(i).nextBytes(value);
    return value;
  }
}
