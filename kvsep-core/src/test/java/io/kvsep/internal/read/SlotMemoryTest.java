package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.runtime.EngineConfig;
import io.kvsep.internal.runtime.EngineConfig.Shape;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import org.junit.jupiter.api.Test;

/** What slots of readers keep between two calls. */
final class SlotMemoryTest {
  private static final int BUDGET_BYTES = 16 << 20;
  private static final long TRY_NANOS = 20_000_000;

  private final Shape shape = Shape.forBudget(BUDGET_BYTES, /* packsBlocks= */ false);

  private StorageEngine open(int compressionBytesMin) {
    EngineConfig base = Engines.config(new CrashableStorage(), new ManualScheduler(1, 1));
    return StorageEngine.open(
        ConfigDraft.of(base)
            .shape(shape)
            .inlineValueBytesMax(256)
            .compressionBytesMin(compressionBytesMin)
            .build());
  }

  private static byte[] key(int i) {
    return String.format("key-%08d", i).getBytes(UTF_8);
  }

  private static long held(StorageEngine engine, String purpose) {
    Map<String, Long> bytes = engine.stats().memoryBytes();
    return Objects.requireNonNull(bytes.get(purpose), purpose);
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
