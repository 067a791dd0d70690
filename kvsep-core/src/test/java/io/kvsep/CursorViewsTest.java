package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.ReadOnlyBufferException;
import java.nio.file.Path;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Views of a cursor that walks over short values in a table, and two threads at one cursor. */
final class CursorViewsTest {
  private static final int KEYS = 3_000;

  @TempDir Path directory;

  private static byte[] key(int number) {
    return ByteBuffer.allocate(4).putInt(number).array();
  }

  /** Values of 4 to 43 bytes that begin with the key. */
  private static byte[] value(int number) {
    return ByteBuffer.allocate(4 + number % 40).putInt(number).array();
  }

  @BeforeEach
  void load() throws IOException {
    try (KvStore store = KvStore.open(directory)) {
      for (int i = 0; i < KEYS; i++) {
        store.put(key(i), value(i));
      }
      store.compact();
    }
  }

  @Test
  void whatIsDoneWithAViewSaysNothingAboutTheNext() {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor()) {
      for (int i = 0; i < KEYS; i++) {
        assertTrue(cursor.next());
        ByteBuffer key = cursor.keyView();
        ByteBuffer value = cursor.valueView();
        assertEquals(4, key.remaining());
        assertEquals(4 + i % 40, value.remaining());
        assertEquals(0, value.position());
        assertThrows(ReadOnlyBufferException.class, () -> value.put(0, (byte) 1));
        assertEquals(i, key.getInt());
        assertEquals(i, value.getInt());
        assertArrayEquals(value(i), cursor.value());
        assertEquals(4 + i % 40, cursor.valueLength());
        key.order(ByteOrder.LITTLE_ENDIAN);
        value.order(ByteOrder.LITTLE_ENDIAN);
      }
    }
  }

  @Test
  void aClosedCursorHasNoViews() {
    try (KvStore store = KvStore.open(directory)) {
      KvCursor cursor = store.cursor();
      for (int i = 0; i < 10; i++) {
        cursor.next();
      }
      cursor.close();
      assertThrows(StoreClosedException.class, cursor::valueView);
      assertThrows(StoreClosedException.class, cursor::value);
      assertThrows(StoreClosedException.class, cursor::keyView);
      assertThrows(StoreClosedException.class, cursor::next);
    }
  }

  /** Each call works, or says that another thread is at the cursor. */
  @Test
  void twoThreadsAreToldOfEachOther() throws Exception {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor()) {
      AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();
      CyclicBarrier start = new CyclicBarrier(2);
      Thread other = new Thread(() -> walk(cursor, start, wrong));
      other.start();
      walk(cursor, start, wrong);
      other.join();
      assertNull(wrong.get(), () -> "threw " + wrong.get());
      assertTrue(cursor.seek(key(7)));
      assertArrayEquals(value(7), cursor.value());
    }
  }

  /** One that only looks changes nothing of what the one that walks is given. */
  @Test
  void aViewIsOfItsEntryBesideOtherReaders() throws Exception {
    try (KvStore store = KvStore.open(directory);
        KvCursor cursor = store.cursor()) {
      AtomicBoolean walking = new AtomicBoolean(true);
      AtomicReference<@Nullable Throwable> wrong = new AtomicReference<>();
      Thread other = new Thread(() -> look(cursor, walking, wrong));
      other.start();
      int seen = 0;
      int at = 0;
      for (int i = 0; i < 2_000_000; i++) {
        try {
          at = cursor.next() ? at + 1 : 0;
        } catch (IllegalStateException e) {
          continue;
        }
        try {
          ByteBuffer key = cursor.keyView();
          ByteBuffer value = cursor.valueView();
          if (key.getInt(0) != at - 1 || !value.equals(ByteBuffer.wrap(value(at - 1)))) {
            wrong.compareAndSet(null, new AssertionError("at entry " + (at - 1)));
          }
          seen++;
        } catch (IllegalStateException e) {
          // Told of the other, or not on an entry.
        }
        if (at == 0) {
          at = restart(cursor);
        }
      }
      walking.set(false);
      other.join();
      assertNull(wrong.get(), () -> "was " + wrong.get());
      assertTrue(seen > 0);
    }
  }

  /** To before the second entry; what comes next is that. */
  private static int restart(KvCursor cursor) {
    while (true) {
      try {
        cursor.seek(key(0));
        return 1;
      } catch (IllegalStateException e) {
        Thread.onSpinWait();
      }
    }
  }

  private static void look(
      KvCursor cursor, AtomicBoolean walking, AtomicReference<@Nullable Throwable> wrong) {
    while (walking.get()) {
      try {
        cursor.valueView();
        cursor.keyView();
      } catch (IllegalStateException e) {
        // Told of the other.
      } catch (RuntimeException | Error e) {
        wrong.compareAndSet(null, e);
      }
    }
  }

  private static void walk(
      KvCursor cursor, CyclicBarrier start, AtomicReference<@Nullable Throwable> wrong) {
    try {
      start.await();
    } catch (Exception e) {
      wrong.set(e);
    }
    for (int i = 0; i < 300_000 && wrong.get() == null; i++) {
      try {
        if (!cursor.next()) {
          cursor.seek(key(0));
        }
        assertTrue(cursor.value().length < 44);
        assertTrue(cursor.valueView().remaining() < 44);
      } catch (RuntimeException | Error e) {
        if (!(e instanceof IllegalStateException)) {
          wrong.compareAndSet(null, e);
        }
      }
    }
  }
}
