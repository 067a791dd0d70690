package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.Sample;
import java.io.InputStream;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A closed store, snapshot or cursor says so, from every method and thread, and nothing else. */
final class ClosedStoreTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);

  private static final int ROUNDS = Sample.EXHAUSTIVE ? 60 : 3;

  @TempDir Path directory;

  @Test
  void everyMethodOfAClosedStoreSaysSo() {
    KvStore store = opened();
    Map<Class<?>, Object> arguments = arguments(store);
    store.close();
    store.close();
    assertAllClosed(KvStore.class, store, arguments);
  }

  @Test
  void everyMethodOfAClosedStoreForReadingOnlySaysSo() {
    KvStore writing = opened();
    writing.keyspace("name");
    writing.close();
    KvStore store = KvStore.open(directory, KvOptions.builder().readOnly(true).build());
    Map<Class<?>, Object> arguments = arguments(store);
    store.close();
    assertAllClosed(KvStore.class, store, arguments);
  }

  @Test
  void aStreamOfABackupOrRestoreDoesNotCloseItsStore() {
    try (KvStore store = opened()) {
      OutputStream closingOutput =
          new OutputStream() {
            @Override
            public void write(int one) {
              store.close();
            }
          };
      InputStream closingInput =
          new InputStream() {
            @Override
            public int read() {
              return read(new byte[1], 0, 1);
            }

            @Override
            public int read(byte[] target, int offset, int length) {
              store.close();
              return -1;
            }
          };
      assertTimeoutPreemptively(
          Duration.ofSeconds(60),
          () -> {
            assertThrows(IllegalStateException.class, () -> store.backup(closingOutput, 0));
            assertThrows(IllegalStateException.class, () -> store.restore(closingInput));
          });
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  @Test
  void everyMethodOfAClosedSnapshotSaysSo() {
    try (KvStore store = opened()) {
      Snapshot snapshot = store.snapshot();
      assertArrayEquals(VALUE, snapshot.get(KEY));
      snapshot.close();
      snapshot.close();
      assertAllClosed(Snapshot.class, snapshot, arguments(store));
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  @Test
  void everyMethodOfASnapshotOfAClosedStoreSaysSo() {
    KvStore store = opened();
    Snapshot snapshot = store.snapshot();
    Map<Class<?>, Object> arguments = arguments(store);
    store.close();
    assertAllClosed(Snapshot.class, snapshot, arguments);
    snapshot.close();
  }

  @Test
  void everyMethodOfAKeyspaceOfAClosedStoreSaysSo() {
    KvStore store = opened();
    Snapshot snapshot = store.snapshot();
    Keyspace keyspace = store.keyspace("users");
    KeyspaceView view = store.in(keyspace);
    KvReader past = snapshot.in(keyspace);
    Map<Class<?>, Object> arguments = arguments(store);
    store.close();
    assertAllClosed(KeyspaceView.class, view, arguments);
    assertAllClosed(KvReader.class, past, arguments);
    snapshot.close();
  }

  @Test
  void everyMethodOfATransactionThatIsOverSaysSo() {
    try (KvStore store = opened()) {
      Transaction transaction = store.begin();
      KvView view = transaction.in(store.keyspace("users"));
      transaction.commit();
      assertAllClosed(Transaction.class, transaction, arguments(store));
      assertAllClosed(KvView.class, view, arguments(store));
    }
  }

  @Test
  void everyMethodOfAClosedWriteBufferSaysSo() {
    try (KvStore store = opened()) {
      WriteBuffer buffer = store.buffer();
      KvView view = buffer.in(store.keyspace("users"));
      buffer.close();
      assertAllClosed(WriteBuffer.class, buffer, arguments(store));
      assertAllClosed(KvView.class, view, arguments(store));
    }
  }

  @Test
  void everyMethodOfATransactionOfAClosedStoreSaysSo() {
    KvStore store = opened();
    Map<Class<?>, Object> arguments = arguments(store);
    // The end of one is a use of it too.
    for (Class<?> type : List.of(KvReader.class, KvWriter.class)) {
      Transaction transaction = store.begin();
      KvView view = transaction.in(store.keyspace("users"));
      transaction.put(KEY, VALUE);
      store.close();
      assertAllClosed(type, transaction, arguments);
      assertAllClosed(type, view, arguments);
      assertThrows(StoreClosedException.class, transaction::rollback);
      transaction.close();
      store = opened();
    }
    store.close();
  }

  @Test
  void everyMethodOfAClosedCursorSaysSo() {
    try (KvStore store = opened()) {
      KvCursor cursor = store.cursor();
      assertTrue(cursor.next());
      cursor.close();
      cursor.close();
      assertAllClosed(KvCursor.class, cursor, arguments(store));
    }
  }

  @Test
  void everyMethodOfACursorOfAClosedStoreSaysSo() {
    KvStore store = opened();
    KvCursor fresh = store.cursor();
    KvCursor cursor = store.cursor();
    assertTrue(cursor.next());
    Map<Class<?>, Object> arguments = arguments(store);
    store.close();
    assertAllClosed(KvCursor.class, cursor, arguments);
    assertAllClosed(KvCursor.class, fresh, arguments);
    cursor.close();
  }

  @Test
  void aCursorOutlivesItsSnapshot() {
    try (KvStore store = opened()) {
      Snapshot snapshot = store.snapshot();
      KvCursor cursor = snapshot.cursor();
      store.put(KEY, new byte[1]);
      snapshot.close();
      assertTrue(cursor.next());
      assertArrayEquals(VALUE, cursor.value());
      cursor.close();
    }
  }

  @Test
  void closingInsideAReadIsRefusedAndTheStoreGoesOn() {
    try (KvStore store = opened();
        Snapshot snapshot = store.snapshot()) {
      for (KvReader reader : List.of(store, snapshot)) {
        byte[] seen =
            reader.read(
                KEY,
                view -> {
                  assertThrows(IllegalStateException.class, store::close);
                  return copyOf(view);
                });
        assertArrayEquals(VALUE, seen);
      }
      store.put(KEY, VALUE);
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  @Test
  void aViewKeptFromACursorIsHarmlessAfterClosing() {
    KvStore store = opened();
    store.put(KEY, new byte[100_000]);
    store.flush();
    KvCursor cursor = store.cursor();
    assertTrue(cursor.next());
    ByteBuffer key = cursor.keyView();
    ByteBuffer value = cursor.valueView();
    store.close();
    // What they show is not promised; that looking at them is harmless is.
    assertTrue(copyOf(key).length <= 100_000);
    assertTrue(copyOf(value).length <= 100_000);
  }

  private static long transaction(Transaction transaction) {
    transaction.put(key(121), VALUE);
    try (KvCursor cursor = transaction.cursor(ScanOptions.prefix(key(120)))) {
      while (cursor.next()) {
        transaction.delete(cursor.key());
      }
    }
    return transaction.increment(key(301), 1);
  }

  /** Threads in the middle of anything learn that the store is closed, by one error only. */
  @Test
  void closingWhileOthersWorkGivesThemNoOtherError() throws InterruptedException {
    for (int round = 0; round < ROUNDS; round++) {
      KvStore store = KvStore.open(directory, options());
      Keyspace kept = store.keyspace("kept");
      KvView inKept = store.in(kept);
      for (int i = 0; i < 200; i++) {
        store.put(key(i), new byte[i * 20]);
        inKept.put(key(i), new byte[i * 20]);
      }
      List<Throwable> errors = Collections.synchronizedList(new ArrayList<>());
      AtomicInteger copies = new AtomicInteger();
      Path copy = directory.resolve("copies-" + round);
      List<Runnable> jobs =
          List.of(
              () -> store.put(KEY, VALUE),
              () -> store.write(new WriteBatch().put(KEY, VALUE).delete(KEY)),
              () -> store.compareAndSet(KEY, VALUE, VALUE),
              () -> store.increment(key(300), 1),
              () -> store.transact(ClosedStoreTest::transaction),
              () -> store.deleteRange(key(7), key(9)),
              () -> store.dropKeyspace(store.keyspace("name")),
              () -> store.get(key(100)),
              () -> store.getAll(List.of(key(1), key(150), KEY)),
              () -> store.read(key(199), view -> view == null ? 0 : copyOf(view).length),
              () -> store.readWithInfo(key(198), (info, view) -> copyOf(view).length),
              () -> scan(store),
              () -> readSnapshot(store),
              () -> readViews(store, kept),
              () -> inKept.put(key(11), VALUE, Duration.ofMinutes(1)),
              () -> inKept.deleteRange(key(3), key(4)),
              () -> scan(inKept),
              () -> store.get(BytesStore.wrap(key(120)), Bytes.allocateElasticOnHeap()),
              () -> store.put(BytesStore.wrap(KEY), BytesStore.wrap(VALUE)),
              () -> store.compareAndDelete(key(12), VALUE),
              () -> store.write(new WriteBatch().in(kept).put(KEY, VALUE), Durability.sync()),
              store::stats,
              store::segments,
              store::keyspaces,
              store::compact,
              store::reclaim,
              store::flush,
              () -> store.backup(OutputStream.nullOutputStream(), 0),
              () -> store.checkpoint(copy.resolve("" + copies.getAndIncrement())),
              store::sync);
      CountDownLatch running = new CountDownLatch(jobs.size());
      List<Thread> threads = new ArrayList<>();
      for (Runnable job : jobs) {
        threads.add(new Thread(() -> repeat(job, running, errors)));
      }
      threads.forEach(Thread::start);
      running.await();
      store.close();
      for (Thread thread : threads) {
        thread.join(TimeUnit.SECONDS.toMillis(60));
        assertTrue(!thread.isAlive(), "a call neither ended nor failed");
      }
      assertEquals(jobs.size(), errors.size());
      for (Throwable error : errors) {
        if (!(error instanceof StoreClosedException)) {
          throw new AssertionError("round " + round, error);
        }
      }
    }
  }

  private static void repeat(Runnable job, CountDownLatch running, List<Throwable> errors) {
    boolean first = true;
    try {
      while (true) {
        job.run();
        if (first) {
          running.countDown();
          first = false;
        }
      }
    } catch (Throwable e) {
      errors.add(e);
      if (first) {
        running.countDown();
      }
    }
  }

  private static void scan(KvReader reader) {
    try (KvCursor cursor = reader.cursor()) {
      while (cursor.next()) {
        cursor.keyView();
        cursor.value();
      }
    }
  }

  private static void readSnapshot(KvStore store) {
    try (Snapshot snapshot = store.snapshot()) {
      snapshot.get(key(7));
      try (KvCursor cursor = snapshot.cursor(ScanOptions.all().reverse().keysOnly())) {
        cursor.next();
        cursor.key();
      }
    }
  }

  private static void readViews(KvStore store, Keyspace keyspace) {
    try (Snapshot snapshot = store.snapshot();
        KvCursor cursor = snapshot.in(keyspace).cursor(ScanOptions.all().prefetch(20))) {
      snapshot.in(keyspace).getAll(List.of(key(20), key(140)));
      cursor.seek(key(30));
      cursor.seekFloor(key(160));
      cursor.previous();
      cursor.valueView();
      cursor.expiresAtMillis();
    }
  }

  private KvStore opened() {
    KvStore store = KvStore.open(directory, options());
    store.put(KEY, VALUE);
    return store;
  }

  private static KvOptions options() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
  }

  private static byte[] key(int number) {
    return ("key-" + number).getBytes(UTF_8);
  }

  private static byte[] copyOf(ByteBuffer view) {
    byte[] copy = new byte[view.remaining()];
    view.get(copy);
    return copy;
  }

  /** A transaction that was committed still tells of its version. */
  private static boolean mayAnswer(Method method) {
    return method.getName().equals("close")
        || (method.getDeclaringClass() == Transaction.class && method.getName().equals("version"));
  }

  /**
   * Calls every method of the type that must not answer. A type without an argument here is a
   * failure.
   */
  private static void assertAllClosed(
      Class<?> type, Object target, Map<Class<?>, Object> arguments) {
    List<String> wrong = new ArrayList<>();
    int count = 0;
    for (Method method : type.getMethods()) {
      if (Modifier.isStatic(method.getModifiers()) || mayAnswer(method)) {
        continue;
      }
      count++;
      Object[] values = new Object[method.getParameterCount()];
      for (int i = 0; i < values.length; i++) {
        Object value = arguments.get(method.getParameterTypes()[i]);
        assertNotNull(value, () -> "an argument is needed for " + method);
        values[i] = value;
      }
      try {
        Object result = method.invoke(target, values);
        wrong.add(method.getName() + " returned " + result);
      } catch (InvocationTargetException e) {
        if (!(e.getCause() instanceof StoreClosedException)) {
          wrong.add(method.getName() + " threw " + e.getCause());
        }
      } catch (IllegalAccessException e) {
        throw new AssertionError(e);
      }
    }
    assertTrue(count > 0);
    assertEquals(List.of(), wrong);
  }

  private Map<Class<?>, Object> arguments(KvStore store) {
    Function<Object, Object> work = argument -> "called";
    BiFunction<Object, Object, Object> reader = (info, view) -> "called";
    BiConsumer<Object, Object> action = (key, value) -> {};
    return Map.ofEntries(
        Map.entry(byte[].class, KEY),
        Map.entry(long.class, 1L),
        Map.entry(int.class, 1),
        Map.entry(BiFunction.class, reader),
        Map.entry(BiConsumer.class, action),
        Map.entry(ByteBuffer.class, ByteBuffer.allocate(10)),
        Map.entry(UnaryOperator.class, UnaryOperator.identity()),
        Map.entry(Collection.class, List.of("name")),
        Map.entry(String.class, "name"),
        Map.entry(Keyspace.class, store.keyspace("name")),
        Map.entry(List.class, List.of(KEY)),
        Map.entry(Function.class, work),
        Map.entry(BytesStore.class, BytesStore.wrap(KEY)),
        Map.entry(Bytes.class, Bytes.allocateElasticOnHeap()),
        Map.entry(ScanOptions.class, ScanOptions.all()),
        Map.entry(Duration.class, Duration.ofMinutes(1)),
        Map.entry(WriteBatch.class, new WriteBatch().put(KEY, VALUE)),
        Map.entry(Durability.class, Durability.none()),
        Map.entry(Path.class, directory.resolve("copy")),
        Map.entry(OutputStream.class, OutputStream.nullOutputStream()),
        Map.entry(InputStream.class, InputStream.nullInputStream()),
        Map.entry(Iterator.class, Collections.emptyIterator()),
        Map.entry(Stream.class, Stream.empty()));
  }
}
