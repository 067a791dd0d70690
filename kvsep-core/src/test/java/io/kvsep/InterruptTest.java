package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** An interrupt neither fails a call nor harms the store, and is still there afterwards. */
final class InterruptTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  @TempDir Path directory;

  @AfterEach
  void clearFlag() {
    Thread.interrupted();
  }

  @Test
  void everyCallCompletesAndKeepsTheFlag() {
    KvStore store = KvStore.open(directory, options());
    byte[] large = new byte[300_000];
    new Random(1).nextBytes(large);
    interrupted("put", () -> store.put(KEY, large));
    interrupted("get", () -> assertArrayEquals(large, store.get(KEY)));
    interrupted("sync", store::sync);
    interrupted("write", () -> store.write(new WriteBatch().put(KEY, large), Durability.sync()));
    interrupted("flush", store::flush);
    interrupted("get from a table", () -> assertArrayEquals(large, store.get(KEY)));
    interrupted("compare", () -> assertTrue(store.compareAndSet(KEY, large, new byte[5_000])));
    interrupted(
        "scan",
        () -> {
          try (KvCursor cursor = store.cursor()) {
            assertTrue(cursor.next());
            assertEquals(5_000, cursor.value().length);
          }
        });
    interrupted("compact", store::compact);
    interrupted("reclaim", store::reclaim);
    interrupted("put with a time to live", () -> store.put(KEY, large, Duration.ofDays(1)));
    interrupted("put of bytes", () -> store.put(BytesStore.wrap(KEY), BytesStore.wrap(large)));
    interrupted("contains", () -> assertTrue(store.contains(KEY)));
    interrupted("get all", () -> assertArrayEquals(large, store.getAll(List.of(KEY)).get(0)));
    interrupted("read", () -> store.read(KEY, view -> view.remaining()));
    interrupted("get of bytes", () -> assertEquals(300_000, bytes(store)));
    interrupted("compare and delete", () -> assertTrue(store.compareAndDelete(KEY, large)));
    interrupted("delete", () -> store.delete(KEY));
    interrupted("delete of a range", () -> store.deleteRange(KEY, new byte[] {(byte) 0xff}));
    interrupted("keyspace", () -> store.keyspace("users"));
    interrupted("put into a keyspace", () -> store.in(store.keyspace("users")).put(KEY, KEY));
    interrupted("drop of a keyspace", () -> store.dropKeyspace(store.keyspace("users")));
    interrupted("names of keyspaces", () -> assertEquals(List.of(), store.keyspaces()));
    interrupted("snapshot", () -> store.snapshot().close());
    interrupted("figures", store::stats);
    interrupted("files", store::segments);
    interrupted("bulk load", () -> store.bulkLoad(entries(large)));
    interrupted("put again", () -> store.put(KEY, new byte[5_000]));
    interrupted("close", store::close);
    interrupted(
        "open",
        () -> {
          try (KvStore again = KvStore.open(directory, options())) {
            assertArrayEquals(new byte[5_000], again.get(KEY));
          }
        });
  }

  /** Two runs, with values beside their keys, in order and as they come. */
  private static Iterator<Map.Entry<byte[], byte[]>> entries(byte[] large) {
    return IntStream.range(0, 20_000)
        .map(n -> n * 7919 % 20_000)
        .mapToObj(
            n ->
                Map.entry(("load" + n).getBytes(UTF_8), n % 5_000 == 7 ? large : new byte[n % 500]))
        .iterator();
  }

  /** Interrupts rain on two writers that sync, so that some hit in the middle of a call. */
  @Test
  void interruptsInTheMiddleOfCallsHarmNothing() throws InterruptedException {
    List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
    AtomicBoolean done = new AtomicBoolean();
    try (KvStore store = KvStore.open(directory, options())) {
      List<Thread> writers = new ArrayList<>();
      for (int w = 0; w < 2; w++) {
        int writer = w;
        Thread thread =
            new Thread(
                () -> {
                  try {
                    for (int i = 0; i < 150; i++) {
                      byte[] key = ("w" + writer + "-" + i).getBytes(UTF_8);
                      store.put(key, value(writer, i));
                      assertArrayEquals(value(writer, i), store.get(key));
                    }
                  } catch (Throwable e) {
                    errors.add(e);
                  }
                });
        writers.add(thread);
        thread.start();
      }
      Thread rain =
          new Thread(
              () -> {
                while (!done.get()) {
                  writers.forEach(Thread::interrupt);
                  Thread.onSpinWait();
                }
              });
      rain.start();
      for (Thread writer : writers) {
        writer.join(TimeUnit.SECONDS.toMillis(60));
        assertTrue(!writer.isAlive(), "a writer hangs");
      }
      done.set(true);
      rain.join();
      assertEquals(List.of(), errors);
    }
    try (KvStore store = KvStore.open(directory, options())) {
      for (int writer = 0; writer < 2; writer++) {
        for (int i = 0; i < 150; i++) {
          byte[] key = ("w" + writer + "-" + i).getBytes(UTF_8);
          assertArrayEquals(value(writer, i), store.get(key));
        }
      }
    }
  }

  private static void interrupted(String what, Runnable call) {
    Thread.currentThread().interrupt();
    call.run();
    assertTrue(Thread.interrupted(), () -> what + " swallowed the interrupt");
  }

  private static long bytes(KvStore store) {
    return store.get(BytesStore.wrap(KEY), Bytes.allocateElasticOnHeap());
  }

  private static byte[] value(int writer, int number) {
    byte[] value = new byte[number * 137 % 9_000];
    new Random(writer * 1_000L + number).nextBytes(value);
    return value;
  }

  private static KvOptions options() {
    return KvOptions.builder().segmentBytes(1 << 20).durability(Durability.sync()).build();
  }
}
