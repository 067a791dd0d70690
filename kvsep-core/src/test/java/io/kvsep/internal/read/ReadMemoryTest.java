package io.kvsep.internal.read;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.EngineConfig.Shape;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.vlog.ValueReader;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.FixedMemory;
import io.kvsep.testing.GatedStorage;
import io.kvsep.testing.ManualScheduler;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import net.openhft.chronicle.bytes.OnHeapBytes;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** The memory of reads is bounded however many there are at once, and given back. */
final class ReadMemoryTest {
  private static final int READERS = 200;
  private static final int VALUE_BYTES = 60_000;
  private static final int GETS = 10;

  /** Of each slot, for the key. */
  private static final int KEY_BYTES = 64;

  /** That many readers have; there are twice as many whenever they do not suffice. */
  private static final int SLOTS = Integer.highestOneBit(READERS) << 1;

  private static final byte[] KEY = "key".getBytes(UTF_8);

  private final GatedStorage storage = new GatedStorage(new CrashableStorage());
  private final Shape shape = Shape.forBudget(16 << 20, /* packsBlocks= */ false);
  private final AtomicReference<@Nullable Throwable> failure = new AtomicReference<>();

  @Test
  void valuesThatAreUnpackedForManyReadersHoldNoMoreThanTheirShare() throws InterruptedException {
    readAtOnce(/* compressionBytesMin= */ 1024);
  }

  /** The end of the log is read by position until there is enough of it to map. */
  @Test
  void recordsThatAreNotMappedHoldNoMoreThanTheirShare() throws InterruptedException {
    readAtOnce(/* compressionBytesMin= */ Integer.MAX_VALUE);
  }

  @Test
  void recordsOfAColdStoreTakeNothingOfAReader() {
    EngineConfig config =
        ConfigDraft.of(config(Integer.MAX_VALUE)).memory(FixedMemory.NONE).build();
    byte[] value = new byte[VALUE_BYTES];
    value[VALUE_BYTES - 1] = 1;
    try (StorageEngine engine = StorageEngine.open(config)) {
      engine.writes().put(0, KEY, value, 0);
      // The end of the log is not mapped until there is enough of it.
      engine.writes().put(0, "mapped".getBytes(UTF_8), new byte[2 << 20], 0);
      long before = readBytes(engine);
      for (int i = 0; i < GETS; i++) {
        assertArrayEquals(value, engine.reads().get(0, KEY, StoreReads.LATEST));
        assertEquals(before, readBytes(engine), "bytes held by readers");
      }
    }
  }

  @Test
  void aLongValueThatIsUnpackedForATargetTakesNoArray() {
    EngineConfig config = config(1024);
    byte[] value = new byte[4 * VALUE_BYTES];
    value[VALUE_BYTES] = 1;
    byte[] longer = new byte[(int) shape.keptBytesMax() + 1];
    longer[VALUE_BYTES] = 2;
    Bytes<?> onHeap = Bytes.allocateElasticOnHeap(longer.length);
    Bytes<?> offHeap = Bytes.allocateElasticDirect(longer.length);
    try (StorageEngine engine = StorageEngine.open(config)) {
      engine.writes().put(0, KEY, value, 0);
      engine.writes().put(0, new byte[] {1}, longer, 0);
      for (Bytes<?> target : List.of(onHeap, offHeap)) {
        long allocated = allocatedByGets(engine, target);
        assertTrue(allocated < value.length, () -> allocated + " bytes for " + GETS + " gets");
        assertArrayEquals(value, target.toByteArray());
        // Beyond the budget of reads.
        target.clear();
        assertEquals(
            longer.length,
            engine.reads().get(0, BytesStore.wrap(new byte[] {1}), target, StoreReads.LATEST));
        assertArrayEquals(longer, target.toByteArray());
        long kept = readBytes(engine);
        assertTrue(kept <= ValueReader.SLOT_BYTES_MAX + KEY_BYTES, kept + " bytes kept");
      }
    } finally {
      offHeap.releaseLast();
    }
  }

  private EngineConfig config(int compressionBytesMin) {
    return ConfigDraft.of(Engines.config(storage, new ManualScheduler(1, 1)))
        .shape(shape)
        .segmentBytes(64 << 20)
        .compressionBytesMin(compressionBytesMin)
        .build();
  }

  /** The least of some rounds, since the JVM charges a thread for what it does for it. */
  private static long allocatedByGets(StorageEngine engine, Bytes<?> target) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    BytesStore<?, ?> key = BytesStore.wrap(KEY);
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 20; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < GETS; i++) {
        target.clear();
        engine.reads().get(0, key, target, StoreReads.LATEST);
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before);
    }
    return least;
  }

  private void readAtOnce(int compressionBytesMin) throws InterruptedException {
    EngineConfig config = config(compressionBytesMin);
    StorageEngine engine = StorageEngine.open(config);
    byte[] value = new byte[VALUE_BYTES];
    value[VALUE_BYTES - 1] = 1;
    engine.writes().put(0, KEY, value, 0);
    CountDownLatch free = new CountDownLatch(1);
    CountDownLatch inside = new CountDownLatch(READERS);
    List<Thread> readers = new ArrayList<>();
    for (int i = 0; i < READERS; i++) {
      Thread reader = new Thread(() -> read(engine, value, inside, free));
      reader.start();
      readers.add(reader);
    }
    inside.await();
    long most = shape.keptBytesMax() + SLOTS * (long) KEY_BYTES;
    long holding = readBytes(engine);
    assertTrue(holding > shape.keptBytesMax() / 2, holding + " bytes held by readers");
    assertTrue(holding <= most, holding + " bytes held by readers");
    free.countDown();
    for (Thread reader : readers) {
      reader.join();
    }
    assertNull(failure.get());
    long kept = readBytes(engine);
    assertTrue(kept <= most, kept + " bytes kept");
    for (int i = 0; i < 3 * READERS; i++) {
      assertArrayEquals(value, engine.reads().get(0, KEY, StoreReads.LATEST));
    }
    kept = readBytes(engine);
    assertTrue(kept <= most, kept + " bytes kept");
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private void read(
      StorageEngine engine, byte[] value, CountDownLatch inside, CountDownLatch free) {
    try {
      HeldBytes target = new HeldBytes(inside, free);
      engine.reads().get(0, BytesStore.wrap(KEY), target, StoreReads.LATEST);
      assertArrayEquals(value, target.toByteArray());
    } catch (Throwable e) {
      failure.compareAndSet(null, e);
      inside.countDown();
    }
  }

  /** Holds its reader up where the value has been read and is about to be copied. */
  private static final class HeldBytes extends OnHeapBytes {
    private final CountDownLatch inside;
    private final CountDownLatch free;

    HeldBytes(CountDownLatch inside, CountDownLatch free) {
      super(BytesStore.wrap(new byte[VALUE_BYTES]), /* elastic= */ false);
      this.inside = inside;
      this.free = free;
    }

    @Override
    public void ensureCapacity(long capacity) {
      inside.countDown();
      await(free);
      super.ensureCapacity(capacity);
    }
  }

  private static void await(CountDownLatch latch) {
    try {
      latch.await();
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  private static long readBytes(StorageEngine engine) {
    return engine.stats().memoryBytes().getOrDefault("read", 0L);
  }
}
