package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.LimitExceededException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** What is too short or too long is refused before anything is written, and the store goes on. */
final class LimitsTest {
  private static final int KEY_BYTES_MAX = 65_535;
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final byte[] EMPTY = new byte[0];

  @TempDir Path directory;
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
    store.put(KEY, VALUE);
  }

  @AfterEach
  void theStoreGoesOn() {
    assertArrayEquals(VALUE, store.get(KEY));
    store.put("later".getBytes(UTF_8), VALUE);
    assertArrayEquals(VALUE, store.get("later".getBytes(UTF_8)));
    store.close();
  }

  @Test
  void theEmptyKeyIsRefusedEverywhere() {
    refusedEverywhere(EMPTY);
  }

  @Test
  void aKeyOf65536BytesIsRefusedEverywhere() {
    refusedEverywhere(new byte[KEY_BYTES_MAX + 1]);
  }

  private void refusedEverywhere(byte[] key) {
    List<Executable> calls =
        List.of(
            () -> store.put(key, VALUE),
            () -> store.put(key, VALUE, Duration.ofDays(1)),
            () -> store.put(BytesStore.wrap(key), BytesStore.wrap(VALUE)),
            () -> store.delete(key),
            () -> store.compute(key, value -> VALUE),
            () -> store.expire(key, Duration.ofDays(1)),
            () -> store.compareAndSet(key, null, VALUE),
            () -> store.compareAndDelete(key, VALUE),
            () -> new WriteBatch().put(key, VALUE),
            () -> new WriteBatch().put(key, VALUE, Duration.ofDays(1)),
            () -> new WriteBatch().delete(key),
            () -> store.get(key),
            () -> store.contains(key),
            () -> store.getAll(List.of(KEY, key)),
            () -> store.read(key, view -> view),
            () -> store.get(BytesStore.wrap(key), Bytes.allocateElasticOnHeap()),
            () -> store.get(key, ByteBuffer.allocate(1)));
    for (Executable call : calls) {
      long commits = store.stats().commits();
      assertThrows(LimitExceededException.class, call);
      assertEquals(commits, store.stats().commits(), "nothing was written");
    }
  }

  @Test
  void theLongestKeyIsAKeyLikeAnyOther() {
    byte[] longest = new byte[KEY_BYTES_MAX];
    Arrays.fill(longest, (byte) 0xff);
    byte[] sibling = longest.clone();
    sibling[KEY_BYTES_MAX - 1] = 1;
    store.put(longest, VALUE);
    store.write(new WriteBatch().put(sibling, new byte[3_000]));
    store.flush();
    store.compact();
    store.close();
    store = KvStore.open(directory);
    assertArrayEquals(VALUE, store.get(longest));
    assertArrayEquals(new byte[3_000], store.get(sibling));
    try (KvCursor cursor = store.cursor(ScanOptions.all().reverse())) {
      assertTrue(cursor.next());
      assertArrayEquals(longest, cursor.key());
      assertTrue(cursor.next());
      assertArrayEquals(sibling, cursor.key());
    }
    store.delete(longest);
    assertFalse(store.contains(longest));
  }

  @Test
  void aValueOverOneGibibyteIsRefusedByItsLength() {
    // Native memory that is not touched is reserved, not used.
    BytesStore<?, ?> huge = BytesStore.lazyNativeBytesStoreWithFixedCapacity((1L << 30) + 1);
    try {
      Bytes<?> value = huge.bytesForRead();
      value.readLimit((1L << 30) + 1);
      long commits = store.stats().commits();
      byte[] key = "huge".getBytes(UTF_8);
      assertThrows(LimitExceededException.class, () -> store.put(BytesStore.wrap(key), value));
      assertNull(store.get(key));
      assertEquals(commits, store.stats().commits());
      value.releaseLast();
    } finally {
      huge.releaseLast();
    }
  }

  @Test
  void aBatchThatRefusesAnEntryStaysAsItWas() {
    WriteBatch batch = new WriteBatch().put("a".getBytes(UTF_8), VALUE);
    assertThrows(LimitExceededException.class, () -> batch.put(EMPTY, VALUE));
    assertThrows(
        IllegalArgumentException.class, () -> batch.put(KEY, VALUE, Duration.ofSeconds(-1)));
    assertEquals(1, batch.count());
    assertEquals(1 + VALUE.length, batch.bytes());
    store.write(batch);
    assertArrayEquals(VALUE, store.get("a".getBytes(UTF_8)));
  }

  @Test
  void anEmptyBatchIsNoWrite() {
    long commits = store.stats().commits();
    store.write(new WriteBatch());
    assertEquals(commits, store.stats().commits());
  }

  @Test
  void emptyValuesAreValues() {
    byte[] key = "empty".getBytes(UTF_8);
    store.put(key, EMPTY);
    for (int i = 0; i < 3; i++) {
      assertArrayEquals(EMPTY, store.get(key));
      assertTrue(store.contains(key));
      Integer remaining = store.read(key, view -> view.remaining());
      assertEquals(Integer.valueOf(0), remaining);
      assertEquals(0, store.get(BytesStore.wrap(key), Bytes.allocateElasticOnHeap()));
      try (KvCursor cursor = store.cursor(ScanOptions.prefix(key))) {
        assertTrue(cursor.next());
        assertEquals(0, cursor.valueLength());
        assertEquals(0, cursor.valueView().remaining());
        assertArrayEquals(EMPTY, cursor.value());
      }
      if (i == 0) {
        store.flush();
      } else if (i == 1) {
        store.close();
        store = KvStore.open(directory, KvOptions.builder().inlineValueBytesMax(0).build());
      }
    }
    assertTrue(store.compareAndSet(key, EMPTY, VALUE));
    assertTrue(store.compareAndDelete(key, VALUE));
    assertNull(store.get(key));
  }

  @Test
  void keysOrderAsUnsignedBytes() {
    byte[][] ascending = {
      {0},
      {0, 0},
      {0, (byte) 0x80},
      {1},
      {0x7f},
      {0x7f, (byte) 0xff},
      {(byte) 0x80},
      {(byte) 0x80, 0},
      {(byte) 0xff},
      {(byte) 0xff, 0x7f},
      {(byte) 0xff, (byte) 0xff}
    };
    store.delete(KEY);
    for (int i = ascending.length - 1; i >= 0; i -= 2) {
      store.put(ascending[i], new byte[] {(byte) i});
    }
    store.flush();
    for (int i = ascending.length - 2; i >= 0; i -= 2) {
      store.put(ascending[i], new byte[] {(byte) i});
    }
    try (KvCursor cursor = store.cursor()) {
      for (byte[] key : ascending) {
        assertTrue(cursor.next());
        assertArrayEquals(key, cursor.key());
      }
      assertFalse(cursor.next());
    }
    store.put(KEY, VALUE);
  }
}
