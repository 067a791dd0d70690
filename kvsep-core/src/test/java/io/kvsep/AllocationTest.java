package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import net.openhft.chronicle.bytes.Bytes;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Calls that take and give {@code Bytes} leave nothing to the garbage collector. */
@Tag("compiled")
final class AllocationTest {
  private static final int KEYS = 2_000;
  private static final int CALLS = 20_000;

  /**
   * Tests run by java.lang.foreign from JDK 22 on, where JDK calls on memory need a buffer object.
   */
  private static final int BUFFER_BYTES = Runtime.version().feature() < 22 ? 0 : 64;

  @TempDir Path directory;

  private interface Call {
    void run(int number);
  }

  private static byte[] value(int length) {
    byte[] value = new byte[length];
    for (int i = 0; i < length; i++) {
      value[i] = (byte) (i * i + i / 7);
    }
    return value;
  }

  /** Bytes of heap for each call, once what is compiled and made once is there. */
  private static double allocated(Call call, int allowed) {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    double least = Double.MAX_VALUE;
    // Some objects exist until the compiler sees that they are not needed, which may take long
    // while other threads want the processors.
    long start = System.nanoTime();
    for (int round = 0; least >= allowed + 1 && (round < 40 || isWithinMinute(start)); round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < CALLS; i++) {
        call.run(i);
      }
      long after = threads.getCurrentThreadAllocatedBytes();
      least = Math.min(least, (double) (after - before) / CALLS);
    }
    return least;
  }

  private static boolean isWithinMinute(long start) {
    return System.nanoTime() - start < 60_000_000_000L;
  }

  private static void assertNothing(Call call, String what) {
    assertAtMost(0, call, what);
  }

  private static void assertAtMost(int allowed, Call call, String what) {
    double bytes = allocated(call, allowed);
    assertTrue(bytes < allowed + 1, () -> what + ": " + bytes + " bytes a call");
  }

  private static void check(KvStore store, int valueBytes, Bytes<?> key, Bytes<?> value) {
    Call present =
        number -> {
          key.clear().writeInt(number % KEYS * 2);
          value.clear();
          assertEquals(valueBytes, store.get(key, value));
        };
    Call absent =
        number -> {
          key.clear().writeInt(number % KEYS * 2 + 1);
          assertEquals(-1, store.get(key, value));
        };
    assertNothing(present, valueBytes + " bytes, present");
    assertNothing(absent, valueBytes + " bytes, absent");
    assertAtMost(
        3 * BUFFER_BYTES,
        number -> {
          key.clear().writeInt(number % KEYS * 2);
          store.put(key, value);
        },
        valueBytes + " bytes, put");
  }

  private static void checkBuffers(KvStore store, int valueBytes) {
    byte[][] keys = new byte[2 * KEYS][];
    for (int i = 0; i < keys.length; i++) {
      keys[i] = ByteBuffer.allocate(4).order(ByteOrder.nativeOrder()).putInt(i).array();
    }
    for (ByteBuffer target :
        new ByteBuffer[] {ByteBuffer.allocate(2_000), ByteBuffer.allocateDirect(2_000)}) {
      String where = valueBytes + " bytes into " + target;
      assertAtMost(
          BUFFER_BYTES,
          number -> assertEquals(valueBytes, store.get(keys[number % KEYS * 2], target.clear())),
          where);
      assertAtMost(
          BUFFER_BYTES,
          number ->
              assertEquals(valueBytes, store.get(keys[number % KEYS * 2], target.clear().limit(9))),
          where + ", which is too short");
      assertNothing(
          number -> assertEquals(-1, store.get(keys[number % KEYS * 2 + 1], target.clear())),
          where + ", absent");
    }
  }

  private void checkAll(Bytes<?> key, Bytes<?> value) {
    for (int valueBytes : new int[] {50, 1_500}) {
      // Compressed as well, where that pays.
      KvOptions options = KvOptions.builder().durability(Durability.none()).build();
      try (KvStore store = KvStore.open(directory.resolve("" + valueBytes), options)) {
        for (int run = 0; run < 3; run++) {
          for (int i = 0; i < KEYS; i++) {
            key.clear().writeInt(2 * i);
            value.clear().write(value(valueBytes));
            store.put(key, value);
          }
          store.flush();
        }
        check(store, valueBytes, key, value);
        store.compact();
        check(store, valueBytes, key, value);
        checkBuffers(store, valueBytes);
      }
    }
  }

  @Test
  void getAndPutOfBytesOffHeapAllocateNothing() {
    Bytes<?> key = Bytes.allocateElasticDirect(16);
    Bytes<?> value = Bytes.allocateElasticDirect(2_000);
    try {
      checkAll(key, value);
    } finally {
      key.releaseLast();
      value.releaseLast();
    }
  }

  @Test
  void getAndPutOfBytesOnTheHeapAllocateNothing() {
    checkAll(Bytes.allocateElasticOnHeap(16), Bytes.allocateElasticOnHeap(2_000));
  }
}
