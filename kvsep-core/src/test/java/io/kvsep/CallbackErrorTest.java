package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StorageException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Errors that code of users throws inside a call come out as they are. Only the error by which the
 * JVM tells of a page that cannot be read is the device's.
 */
final class CallbackErrorTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = new byte[1_000];

  @TempDir Path directory;

  private static Stream<Error> ofUsers() {
    return Stream.of(
        new InternalError(),
        new InternalError("of the callback"),
        new InternalError("of the callback", new IOException("its cause")),
        new InternalError(new OutOfMemoryError("Java heap space")),
        // Words of the JVM, but behind them stands something else.
        new InternalError(
            "a fault occurred in an unsafe memory access operation", new OutOfMemoryError()),
        new OutOfMemoryError("of the callback"),
        new AssertionError("of the callback"));
  }

  private static Stream<InternalError> ofPages() {
    return Stream.of(
        new InternalError("a fault occurred in an unsafe memory access operation"),
        new InternalError(
            "a fault occurred in a recent unsafe memory access operation in compiled Java code"));
  }

  /** Calls with code of users inside that throws, by what they are. */
  private static Map<String, BiConsumer<KvStore, Error>> calls() {
    Map<String, BiConsumer<KvStore, Error>> calls = new LinkedHashMap<>();
    calls.put("read", (store, error) -> read(store, error));
    calls.put("readWithInfo", (store, error) -> readWithInfo(store, error));
    calls.put(
        "readWithInfo of a long value",
        (store, error) ->
            store.readWithInfo(
                KEY,
                /* valueBytesMax= */ 1,
                (info, view) -> {
                  throw error;
                }));
    calls.put(
        "in a snapshot",
        (store, error) -> {
          try (Snapshot snapshot = store.snapshot()) {
            read(snapshot, error);
          }
        });
    calls.put(
        "in a transaction",
        (store, error) -> {
          try (Transaction transaction = store.begin()) {
            read(transaction, error);
          }
        });
    calls.put(
        "readWithInfo in a transaction",
        (store, error) -> {
          try (Transaction transaction = store.begin()) {
            readWithInfo(transaction, error);
          }
        });
    calls.put(
        "its own write in a transaction",
        (store, error) -> {
          try (Transaction transaction = store.begin()) {
            transaction.put(KEY, VALUE);
            read(transaction, error);
          }
        });
    calls.put(
        "the iterator of a bulk load", (store, error) -> store.bulkLoad(new Failing<>(error)));
    calls.put(
        "the stream of a backup", (store, error) -> store.backup(new FailingOutput(error), 0));
    calls.put("the stream of a restore", (store, error) -> store.restore(new FailingInput(error)));
    return calls;
  }

  private static void read(KvReader reader, Error error) {
    reader.read(
        KEY,
        view -> {
          throw error;
        });
  }

  private static void readWithInfo(KvReader reader, Error error) {
    reader.readWithInfo(
        KEY,
        (info, view) -> {
          throw error;
        });
  }

  private KvStore open() {
    KvStore store = KvStore.open(directory);
    store.put(KEY, VALUE);
    return store;
  }

  @ParameterizedTest
  @MethodSource("ofUsers")
  void anErrorOfTheUsersComesOutAsItIs(Error error) {
    try (KvStore store = open()) {
      calls()
          .forEach(
              (what, call) -> {
                assertSame(error, assertThrows(Error.class, () -> call.accept(store, error)), what);
                assertArrayEquals(VALUE, store.get(KEY), what);
              });
      assertSame(
          error,
          assertThrows(
              Error.class,
              () ->
                  store.transact(
                      transaction -> {
                        throw error;
                      })));
      store.put(KEY, VALUE);
      store.reclaim();
    }
  }

  @ParameterizedTest
  @MethodSource("ofPages")
  void oneOfAPageIsTheDevices(InternalError error) {
    try (KvStore store = open()) {
      calls()
          .forEach(
              (what, call) -> {
                StorageException told =
                    assertThrows(StorageException.class, () -> call.accept(store, error), what);
                assertEquals("cannot read a page of a mapped file", told.getMessage(), what);
                assertSame(error, told.getCause(), what);
              });
    }
  }

  /** A clock is asked by reads of entries that expire, and by writes. */
  @ParameterizedTest
  @MethodSource("ofUsers")
  void anErrorOfTheClockComesOutAsItIs(Error error) {
    FailingClock clock = new FailingClock();
    try (KvStore store = KvStore.open(directory, KvOptions.builder().clock(clock).build())) {
      store.put(KEY, VALUE, Duration.ofDays(1));
      List<Supplier<@Nullable Object>> calls =
          List.of(
              () -> store.get(KEY),
              () -> store.contains(KEY),
              () -> store.read(KEY, view -> 1),
              () -> store.getAll(List.of(KEY)),
              () -> store.compareAndSet(KEY, VALUE, VALUE),
              () -> firstKey(store));
      for (Supplier<@Nullable Object> call : calls) {
        clock.error = error;
        assertSame(error, assertThrows(Error.class, call::get));
        clock.error = null;
        assertArrayEquals(VALUE, store.get(KEY));
      }
      store.put(KEY, VALUE);
    }
  }

  private static byte[] firstKey(KvStore store) {
    try (KvCursor cursor = store.cursor()) {
      cursor.next();
      return cursor.key();
    }
  }

  /** The store is not left with a thread inside. */
  @Test
  void closingDoesNotWaitForCallbacksThatThrew() {
    KvStore store = open();
    calls()
        .forEach(
            (what, call) ->
                assertThrows(
                    AssertionError.class, () -> call.accept(store, new AssertionError(what))));
    store.close();
  }

  private static final class FailingClock extends Clock {
    private final Thread caller = Thread.currentThread();
    private volatile @Nullable Error error;

    @Override
    public long millis() {
      Error thrown = error;
      if (thrown != null && Thread.currentThread() == caller) {
        throw thrown;
      }
      return 1_000;
    }

    @Override
    public Instant instant() {
      return Instant.ofEpochMilli(millis());
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }

  private record Failing<T>(Error error) implements Iterator<T> {
    @Override
    public boolean hasNext() {
      throw error;
    }

    @Override
    public T next() {
      throw error;
    }
  }

  private static final class FailingOutput extends OutputStream {
    private final Error error;

    FailingOutput(Error error) {
      this.error = error;
    }

    @Override
    public void write(int b) {
      throw error;
    }
  }

  private static final class FailingInput extends InputStream {
    private final Error error;

    FailingInput(Error error) {
      this.error = error;
    }

    @Override
    public int read() {
      throw error;
    }

    @Override
    public int read(byte[] target, int from, int count) {
      throw error;
    }
  }
}
