package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.StoreStats;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What slots of readers hold during a long call, and keep between two. */
final class SlotMemoryTest {
  private static final int BUDGET_BYTES = 16 << 20;
  private static final int KEYS = 60_000;
  private static final long TRY_NANOS = 20_000_000;

  private final Shape shape = Shape.forBudget(BUDGET_BYTES, /* packsBlocks= */ true);

  private StorageEngine open(int compressionBytesMin) {
    return open(
        new CrashableStorage(),
        new ManualScheduler(1, 1),
        compressionBytesMin,
        /* readOnly= */ false);
  }

  private StorageEngine open(
      CrashableStorage files,
      ManualScheduler scheduler,
      int compressionBytesMin,
      boolean readOnly) {
    EngineConfig base = Engines.config(files, scheduler);
    return StorageEngine.open(
        ConfigDraft.of(base)
            .readOnly(readOnly)
            .shape(shape)
            .inlineValueBytesMax(256)
            .compressionBytesMin(compressionBytesMin)
            .build());
  }

  private static byte[] key(int i) {
    return String.format("key-%08d", i).getBytes(UTF_8);
  }

  private static byte[] value(int i) {
    byte[] value = new byte[200];
    value[i % 200] = (byte) i;
    return value;
  }

  private static long held(StorageEngine engine, String purpose) {
    Map<String, Long> bytes = engine.stats().memoryBytes();
    return Objects.requireNonNull(bytes.get(purpose), purpose);
  }

  private static <R> R besideALongRead(StorageEngine engine, Supplier<R> work) {
    Epochs<ReadContext> epochs = engine.reads().epochs();
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      return work.get();
    } finally {
      epochs.exit(slot);
    }
  }

  /** As long as one reader stays, no block that was evicted is freed. */
  @Test
  void unpackedBlocksTakeNoMoreThanTheirShareBesideALongRead() {
    try (StorageEngine engine = open(Integer.MAX_VALUE)) {
      for (int i = 0; i < KEYS; i++) {
        engine.writes().put(0, key(i), value(i), 0);
      }
      engine.compact();
      long most =
          besideALongRead(
              engine,
              () -> {
                long peak = 0;
                for (int i = 0; i < KEYS; i++) {
                  assertArrayEquals(value(i), engine.reads().get(0, key(i), StoreReads.LATEST));
                  if (i % 1_000 == 0) {
                    peak = Math.max(peak, held(engine, "block_cache"));
                  }
                }
                return peak;
              });
      long share = shape.caches().blockBytesMax();
      assertTrue(most <= share + share / 2, most + " of " + share);
      StoreStats stats = engine.stats();
      assertTrue(stats.cacheMisses() > 0, "blocks were unpacked");
    }
  }

  /** Nothing but time passes there: no file is ever given up. */
  @Test
  void blocksAreCachedAgainBehindALongReadOfAStoreWithoutWriters() {
    CrashableStorage files = new CrashableStorage();
    try (StorageEngine engine =
        open(files, new ManualScheduler(1, 1), Integer.MAX_VALUE, /* readOnly= */ false)) {
      for (int i = 0; i < KEYS; i++) {
        engine.writes().put(0, key(i), value(i), 0);
      }
      engine.compact();
    }
    ManualScheduler scheduler = new ManualScheduler(1, 1);
    try (StorageEngine engine =
        open(files.crashKeepingAll(), scheduler, Integer.MAX_VALUE, /* readOnly= */ true)) {
      besideALongRead(
          engine,
          () -> {
            for (int i = 0; i < KEYS; i++) {
              engine.reads().get(0, key(i), StoreReads.LATEST);
            }
            return KEYS;
          });
      assertTrue(held(engine, "block_cache") > shape.caches().blockBytesMax(), "the read was long");

      scheduler.tick();
      engine.reads().get(0, key(0), StoreReads.LATEST);

      assertTrue(held(engine, "block_cache") <= shape.caches().blockBytesMax());
    }
  }

  /** The pointers of one call lie in many blocks that are not cached. */
  @Test
  void keysOfOneCallDoNotDisturbEachOtherBesideALongRead() {
    try (StorageEngine engine = open(Integer.MAX_VALUE)) {
      List<byte[]> keys = new ArrayList<>();
      List<byte[]> values = new ArrayList<>();
      for (int i = 0; i < KEYS; i++) {
        byte[] value = value(i);
        if (i % 100 == 0) {
          value = Arrays.copyOf(value, 300);
          keys.add(key(i));
          values.add(value);
        }
        engine.writes().put(0, key(i), value, 0);
      }
      engine.compact();
      List<byte @Nullable []> found =
          besideALongRead(
              engine,
              () -> {
                for (int i = 0; i < KEYS; i++) {
                  engine.reads().get(0, key(i), StoreReads.LATEST);
                }
                return engine.reads().getAll(0, keys, StoreReads.LATEST);
              });
      for (int i = 0; i < keys.size(); i++) {
        assertArrayEquals(values.get(i), found.get(i));
      }
    }
  }

  @Test
  void aValueIsNotKeptBehindTheCall() {
    try (StorageEngine engine = open(1_024)) {
      engine.writes().put(0, key(1), new byte[8 << 20], 0);
      WeakReference<byte[]> value =
          new WeakReference<>(engine.reads().get(0, key(1), StoreReads.LATEST));
      for (int i = 0; i < 100 && value.get() != null; i++) {
        System.gc();
        LockSupport.parkNanos(TRY_NANOS);
      }
      assertNull(value.get());
    }
  }

  @Test
  void aLongKeyIsNotKeptBehindTheCall() {
    try (StorageEngine engine = open(1_024)) {
      byte[] long1 = new byte[65_535];
      engine.writes().put(0, long1, new byte[1], 0);
      engine.reads().contains(0, key(1), StoreReads.LATEST);
      long before = held(engine, "read");
      assertTrue(engine.reads().contains(0, long1, StoreReads.LATEST));
      engine.reads().contains(0, key(1), StoreReads.LATEST);
      assertEquals(before, held(engine, "read"));
    }
  }
}
