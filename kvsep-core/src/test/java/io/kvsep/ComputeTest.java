package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ConflictException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.testing.ManualClock;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Read-modify-write, times to live, and what a keyspace has like the store itself. */
final class ComputeTest {
  private static final long NOW = 1_000_000;
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] ONE = "one".getBytes(UTF_8);
  private static final byte[] TWO = "two".getBytes(UTF_8);
  private static final Duration SECOND = Duration.ofSeconds(1);

  @TempDir Path directory;
  private final ManualClock clock = new ManualClock(NOW);
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory, KvOptions.builder().clock(clock).build());
  }

  @AfterEach
  void close() {
    store.close();
  }

  private List<KeyspaceView> views() {
    return List.of(store, store.in(store.keyspace("named")));
  }

  @Test
  void theFunctionSeesTheValueAndItsResultReplacesIt() {
    for (KeyspaceView view : views()) {
      byte[] first =
          view.compute(
              KEY,
              value -> {
                assertNull(value);
                return ONE;
              });
      assertArrayEquals(ONE, first);
      byte[] second =
          view.compute(
              KEY,
              value -> {
                assertArrayEquals(ONE, value);
                return TWO;
              });
      assertArrayEquals(TWO, second);
      assertArrayEquals(TWO, view.get(KEY));
      assertNull(view.compute(KEY, value -> null));
      assertFalse(view.contains(KEY));
    }
  }

  @Test
  void absentThatStaysAbsentWritesNothing() {
    assertNull(store.compute(KEY, value -> null));
    assertEquals(0, store.stats().commits());
  }

  @Test
  void anEmptyValueIsAValue() {
    store.compute(KEY, value -> new byte[0]);
    assertArrayEquals(new byte[0], store.compute(KEY, value -> value));
  }

  @Test
  void theFunctionRunsAgainIfTheEntryWasWrittenMeanwhile() {
    for (KeyspaceView view : views()) {
      view.put(KEY, ONE);
      List<String> seen = new ArrayList<>();
      view.compute(
          KEY,
          value -> {
            seen.add(new String(Objects.requireNonNull(value), UTF_8));
            if (seen.size() < 3) {
              // The second time the bytes are the same, but it is another write.
              view.put(KEY, TWO);
            }
            return KEY;
          });
      assertEquals(List.of("one", "two", "two"), seen);
      assertArrayEquals(KEY, view.get(KEY));
    }
  }

  @Test
  void anErrorOfTheFunctionWritesNothing() {
    store.put(KEY, ONE);
    assertThrows(UnsupportedOperationException.class, () -> store.compute(KEY, ComputeTest::fail));
    assertArrayEquals(ONE, store.get(KEY));
  }

  private static byte[] fail(byte @Nullable [] value) {
    Objects.requireNonNull(value)[0] = 'x';
    throw new UnsupportedOperationException();
  }

  @Test
  void computeEndsATimeToLive() {
    store.put(KEY, ONE, SECOND);
    store.compute(KEY, value -> TWO);
    clock.advance(2_000);
    assertArrayEquals(TWO, store.get(KEY));
  }

  @Test
  void anEntryThatExpiresMeanwhileIsAbsentTheNextTime() {
    store.put(KEY, ONE, SECOND);
    store.compute(
        KEY,
        value -> {
          if (value == null) {
            return ONE;
          }
          clock.advance(2_000);
          return TWO;
        });
    assertArrayEquals(ONE, store.get(KEY));
  }

  @Test
  void aReadOnlyStoreComputesNothing() {
    store.put(KEY, ONE);
    store.close();
    store = KvStore.open(directory, KvOptions.builder().readOnly(true).build());
    assertThrows(ReadOnlyStoreException.class, () -> store.compute(KEY, value -> TWO));
    assertThrows(ReadOnlyStoreException.class, () -> store.expire(KEY, SECOND));
    assertNull(store.compute(ONE, value -> null));
    assertFalse(store.expire(ONE, SECOND));
  }

  @Test
  void aKeyThatIsTooLongIsRefused() {
    assertThrows(LimitExceededException.class, () -> store.compute(new byte[70_000], value -> ONE));
    assertEquals(0, store.stats().commits());
  }

  @Test
  void expireSetsAndReplacesATimeToLive() {
    for (KeyspaceView view : views()) {
      long now = clock.millis();
      assertFalse(view.expire(KEY, SECOND));
      view.put(KEY, ONE);
      assertTrue(view.expire(KEY, SECOND));
      assertEquals(OptionalLong.of(now + 1_000), expiry(view));
      assertTrue(view.expire(KEY, Duration.ofMillis(20)));
      assertEquals(OptionalLong.of(now + 20), expiry(view));
      assertArrayEquals(ONE, view.get(KEY));
      clock.advance(20);
      assertFalse(view.expire(KEY, SECOND));
      assertNull(view.get(KEY));
    }
  }

  private static OptionalLong expiry(KvReader reader) {
    return Objects.requireNonNull(reader.info(KEY)).expiresAtMillis();
  }

  @Test
  void inATransactionComputeIsAReadAndAWrite() {
    store.put(KEY, ONE);
    try (Transaction transaction = store.begin()) {
      assertArrayEquals(TWO, transaction.compute(KEY, value -> TWO));
      assertArrayEquals(TWO, transaction.get(KEY));
      assertArrayEquals(ONE, store.get(KEY));
      store.put(KEY, ONE);
      assertThrows(ConflictException.class, transaction::commit);
    }
    try (Transaction transaction = store.begin()) {
      assertTrue(transaction.expire(KEY, SECOND));
      assertFalse(transaction.expire(TWO, SECOND));
      assertNull(transaction.in(store.keyspace("named")).compute(KEY, value -> null));
      clock.advance(500);
      transaction.commit();
    }
    assertEquals(OptionalLong.of(NOW + 1_500), expiry(store));
  }

  @Test
  void compareAndSetComparesInItsKeyspace() {
    KeyspaceView view = store.in(store.keyspace("named"));
    store.put(KEY, ONE);
    assertFalse(view.compareAndSet(KEY, ONE, TWO));
    assertTrue(view.compareAndSet(KEY, null, TWO));
    assertFalse(view.compareAndSet(KEY, null, ONE));
    assertFalse(view.compareAndDelete(KEY, ONE));
    assertArrayEquals(ONE, store.get(KEY));
    assertArrayEquals(TWO, view.get(KEY));
    assertTrue(view.compareAndDelete(KEY, TWO));
    assertNull(view.get(KEY));
    assertArrayEquals(ONE, store.get(KEY));
  }

  @Test
  void aKeyspaceIsBulkLoaded() {
    KeyspaceView view = store.in(store.keyspace("named"));
    view.put(KEY, ONE);
    assertEquals(1, view.bulkLoad(Stream.of(Map.entry(KEY, TWO))));
    assertEquals(1, view.bulkLoad(List.of(new ExpiringEntry(ONE, TWO, NOW + 5)).iterator()));
    assertArrayEquals(TWO, view.get(KEY));
    assertArrayEquals(TWO, view.get(ONE));
    assertNull(store.first());
    clock.advance(5);
    assertNull(view.get(ONE));
  }

  /** Computed and incremented beside each other. */
  @Test
  @Tag("compiled")
  void noStepIsLostAmongThreads() throws InterruptedException {
    int threads = 4;
    int steps = 500;
    List<KeyspaceView> views = views();
    ConcurrentLinkedQueue<Throwable> wrong = new ConcurrentLinkedQueue<>();
    List<Thread> running =
        IntStream.range(0, threads)
            .mapToObj(number -> new Thread(() -> count(views, number, steps)))
            .toList();
    for (Thread thread : running) {
      thread.setUncaughtExceptionHandler((failed, error) -> wrong.add(error));
      thread.start();
    }
    for (Thread thread : running) {
      thread.join();
    }
    assertEquals(List.of(), List.copyOf(wrong));
    for (KeyspaceView view : views) {
      assertEquals((long) threads * steps, view.increment(KEY, 0));
    }
  }

  private static void count(List<KeyspaceView> views, int number, int steps) {
    for (int step = 0; step < steps; step++) {
      for (KeyspaceView view : views) {
        if ((number + step) % 5 == 0) {
          view.increment(KEY, 1);
        } else {
          view.compute(KEY, ComputeTest::next);
        }
      }
    }
  }

  private static byte[] next(byte @Nullable [] value) {
    long now = value == null ? 0 : ByteBuffer.wrap(value).getLong();
    return ByteBuffer.allocate(8).putLong(now + 1).array();
  }
}
