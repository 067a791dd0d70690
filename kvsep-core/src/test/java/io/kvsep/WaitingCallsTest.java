package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BiPredicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Every call that can wait does so in spite of interrupts, completes, and leaves the flag set: for
 * the device, for another writer's sync, for a flush that is slow, for reclaim, for readers. The
 * device is held until the call is known to wait and has been interrupted.
 */
final class WaitingCallsTest {
  private static final int VALUE_BYTES = 20_000;

  /** So many values are more than all memtables take together. */
  private static final int STALLING = 600;

  @TempDir Path directory;

  private final Gate gate = new Gate();
  private final List<Thread> threads = new ArrayList<>();
  private final List<String> wrong = Collections.synchronizedList(new ArrayList<>());

  @AfterEach
  void release() throws InterruptedException {
    gate.open();
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(60));
    }
  }

  /** Holds calls of the storage back, whatever interrupts them. */
  private static final class Gate {
    private @Nullable BiPredicate<String, String> holds;
    private int held;

    /** From now on, operations on files for which this says so wait. */
    synchronized void close(BiPredicate<String, String> operationAndName) {
      holds = operationAndName;
    }

    synchronized void open() {
      holds = null;
      notifyAll();
    }

    synchronized void pass(String operation, String name) {
      boolean interrupted = false;
      while (holds != null && holds.test(operation, name)) {
        held++;
        notifyAll();
        try {
          wait();
        } catch (InterruptedException e) {
          interrupted = true;
        }
        held--;
      }
      if (interrupted) {
        Thread.currentThread().interrupt();
      }
    }

    synchronized void awaitHeld() throws InterruptedException {
      while (held == 0) {
        wait();
      }
    }
  }

  private KvStore open() throws IOException {
    FileStorage files = new FileStorage(directory, /* createIfMissing= */ true);
    KvOptions options =
        KvOptions.builder()
            .memoryBudgetBytes(16 << 20)
            .segmentBytes(1 << 20)
            .inlineValueBytesMax(1 << 16)
            .durability(Durability.none())
            .build();
    return OpenStore.open(gated(files), options);
  }

  private Storage gated(Storage storage) {
    return gated(Storage.class, storage, "");
  }

  private <T> T gated(Class<T> type, T target, String file) {
    return type.cast(
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              String name =
                  arguments != null && arguments.length > 0 && arguments[0] instanceof String text
                      ? text
                      : file;
              gate.pass(method.getName(), name);
              try {
                Object result = method.invoke(target, arguments);
                return result instanceof StorageFile opened
                    ? gated(StorageFile.class, opened, opened.name())
                    : result;
              } catch (InvocationTargetException e) {
                throw e.getCause();
              }
            }));
  }

  private static boolean isTableCreated(String operation, String name) {
    return operation.equals("create") && name.endsWith(".sst");
  }

  private static boolean isLogSynced(String operation, String name) {
    return operation.equals("sync") && name.endsWith(".vlog");
  }

  private Thread start(String what, Runnable call) {
    Thread thread =
        new Thread(
            () -> {
              try {
                call.run();
                if (!Thread.interrupted()) {
                  wrong.add(what + " swallowed the interrupt");
                }
              } catch (Throwable e) {
                wrong.add(what + " failed: " + e);
              }
            },
            what);
    threads.add(thread);
    thread.start();
    return thread;
  }

  /** Interrupts each once it waits; while the gate is closed none may come back. */
  private void interruptAllWhileTheyWait() throws InterruptedException {
    for (Thread thread : threads) {
      awaitWaiting(thread);
      thread.interrupt();
    }
    for (Thread thread : threads) {
      awaitWaiting(thread);
    }
    assertEquals(List.of(), wrong);
  }

  private static void awaitWaiting(Thread thread) {
    long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(60);
    while (true) {
      Thread.State state = thread.getState();
      if (state == Thread.State.WAITING || state == Thread.State.TIMED_WAITING) {
        return;
      }
      assertTrue(thread.isAlive(), () -> thread.getName() + " came back too early");
      assertTrue(System.nanoTime() < deadline, () -> thread.getName() + " does not wait: " + state);
      Thread.onSpinWait();
    }
  }

  private void finish() throws InterruptedException {
    gate.open();
    for (Thread thread : threads) {
      thread.join(TimeUnit.SECONDS.toMillis(120));
      assertTrue(!thread.isAlive(), () -> thread.getName() + " hangs");
    }
    threads.clear();
    assertEquals(List.of(), wrong);
  }

  @Test
  void callsThatWaitForAFlush() throws Exception {
    KvStore store = open();
    store.put(key(0), value(0));
    gate.close(WaitingCallsTest::isTableCreated);
    start("flush", store::flush);
    gate.awaitHeld();
    start("second flush", store::flush);
    start("compact", store::compact);
    start("reclaim", store::reclaim);
    start("put under a stall", () -> putAll(store, 0, STALLING));
    start("batch under a stall", () -> writeAll(store, STALLING, 2 * STALLING));
    interruptAllWhileTheyWait();
    finish();
    check(store, 2 * STALLING);
    store.close();
    try (KvStore again = open()) {
      check(again, 2 * STALLING);
    }
  }

  @Test
  void callsThatWaitForASync() throws Exception {
    KvStore store = open();
    store.put(key(0), value(0));
    gate.close(WaitingCallsTest::isLogSynced);
    start("sync", store::sync);
    gate.awaitHeld();
    start("second sync", store::sync);
    start("synced batch", () -> store.write(batch(1), Durability.sync()));
    start("another", () -> store.write(batch(2), Durability.sync()));
    start("making a keyspace", () -> store.dropKeyspace(store.keyspace("made")));
    interruptAllWhileTheyWait();
    finish();
    check(store, 3);
    assertEquals(List.of(), store.keyspaces());
    store.close();
  }

  @Test
  void aCloseThatWaitsForTheDevice() throws Exception {
    KvStore store = open();
    putAll(store, 0, 50);
    gate.close((operation, name) -> operation.equals("sync"));
    start("close", store::close);
    gate.awaitHeld();
    interruptAllWhileTheyWait();
    finish();
    try (KvStore again = open()) {
      check(again, 50);
    }
  }

  @Test
  void aCloseThatWaitsForAReader() throws Exception {
    KvStore store = open();
    putAll(store, 0, 50);
    Gate reading = new Gate();
    reading.close((operation, name) -> true);
    Thread reader =
        new Thread(
            () ->
                store.read(
                    key(1),
                    value -> {
                      reading.pass("", "");
                      return value.remaining();
                    }));
    reader.start();
    reading.awaitHeld();
    start("close", store::close);
    interruptAllWhileTheyWait();
    reading.open();
    reader.join();
    finish();
    try (KvStore again = open()) {
      check(again, 50);
    }
  }

  /** The calls that read wait for the device alone. */
  @Test
  void callsThatReadFromTheDevice() throws Exception {
    try (KvStore store = open()) {
      putAll(store, 0, 50);
      store.flush();
    }
    KvStore store = open();
    gate.close((operation, name) -> operation.equals("open") || operation.equals("read"));
    start("get", () -> assertArrayEquals(value(7), store.get(key(7))));
    gate.awaitHeld();
    start("cursor", () -> scan(store));
    start("getAll", () -> assertEquals(2, store.getAll(List.of(key(1), key(2))).size()));
    for (Thread thread : threads) {
      awaitWaitingOrBlocked(thread);
      thread.interrupt();
    }
    finish();
    store.close();
  }

  @Test
  void canaryCallsThatSwallowAnInterruptOrDoNotWaitAreNoticed() throws Exception {
    try (KvStore store = open()) {
      gate.close(WaitingCallsTest::isLogSynced);
      start(
          "careless",
          () -> {
            store.write(batch(1), Durability.sync());
            Thread.interrupted();
          });
      gate.awaitHeld();
      interruptAllWhileTheyWait();
      gate.open();
      threads.get(0).join();
      assertEquals(List.of("careless swallowed the interrupt"), wrong);
      threads.clear();
      start("hasty", () -> Thread.currentThread().interrupt()).join();
      AssertionError error = assertThrows(AssertionError.class, this::interruptAllWhileTheyWait);
      assertTrue(String.valueOf(error.getMessage()).contains("hasty came back too early"));
    }
  }

  /** A thread that opens a table keeps others waiting for a lock. */
  private static void awaitWaitingOrBlocked(Thread thread) {
    while (thread.getState() != Thread.State.BLOCKED) {
      if (thread.getState() == Thread.State.WAITING) {
        return;
      }
      assertTrue(thread.isAlive(), () -> thread.getName() + " came back too early");
      Thread.onSpinWait();
    }
  }

  private static void scan(KvStore store) {
    try (KvCursor cursor = store.cursor(ScanOptions.all().prefetch(10))) {
      int count = 0;
      while (cursor.next()) {
        assertArrayEquals(value(count), cursor.value());
        count++;
      }
      assertEquals(50, count);
    }
  }

  private static void putAll(KvStore store, int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(key(i), value(i));
    }
  }

  private static void writeAll(KvStore store, int from, int to) {
    for (int i = from; i < to; i++) {
      store.write(batch(i));
    }
  }

  private static WriteBatch batch(int number) {
    return new WriteBatch().put(key(number), value(number));
  }

  private static void check(KvStore store, int count) {
    for (int i = 0; i < count; i++) {
      assertArrayEquals(value(i), store.get(key(i)), "value " + i);
    }
  }

  private static byte[] key(int number) {
    return "key-%05d".formatted(number).getBytes(UTF_8);
  }

  private static byte[] value(int number) {
    byte[] value = new byte[VALUE_BYTES];
    Arrays.fill(value, (byte) number);
    return value;
  }
}
