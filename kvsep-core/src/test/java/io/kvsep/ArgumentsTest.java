package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.NullUnmarked;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** Arguments that make no sense are told apart and named, and change nothing. */
@NullUnmarked // nulls are what is tested
final class ArgumentsTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);
  private static final Duration DAY = Duration.ofDays(1);

  @TempDir Path directory;
  private KvStore store;

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
    store.put(KEY, VALUE);
  }

  @AfterEach
  void nothingChanged() {
    assertEquals(1, store.stats().commits());
    assertArrayEquals(VALUE, store.get(KEY));
    store.close();
  }

  @Test
  void nullsInReadsAreNamed() {
    names("key", () -> store.get(null));
    names("directory", () -> store.checkpoint(null));
    names("output", () -> store.backup(null, 0));
    names("input", () -> store.restore(null));
    names("key", () -> store.contains(null));
    names("key", () -> store.info(null));
    names("keys", () -> store.getAll(null));
    names("keys", () -> store.getAll(Arrays.asList(KEY, null)));
    names("key", () -> store.read(null, view -> view));
    names("reader", () -> store.read(KEY, null));
    names("key", () -> store.readWithInfo(null, (info, view) -> info));
    names("reader", () -> store.readWithInfo(KEY, null));
    names("key", () -> store.readWithInfo(null, 1, (info, view) -> info));
    names("reader", () -> store.readWithInfo(KEY, 1, null));
    names("key", () -> store.get(null, Bytes.allocateElasticOnHeap()));
    names("target", () -> store.get(BytesStore.wrap(KEY), null));
    names("key", () -> store.get(null, ByteBuffer.allocate(1)));
    names("target", () -> store.get(KEY, (ByteBuffer) null));
    names("key", () -> store.floor(null));
    names("key", () -> store.ceiling(null));
    names("key", () -> store.lower(null));
    names("key", () -> store.higher(null));
    names("options", () -> store.stream(null));
    names("options", () -> store.forEach(null, (key, value) -> {}));
    names("action", () -> store.forEach(ScanOptions.all(), null));
    names("options", () -> store.cursor(null));
    names("prefix", () -> ScanOptions.prefix(null));
    try (KvCursor cursor = store.cursor()) {
      names("key", () -> cursor.seek(null));
      names("key", () -> cursor.seekFloor(null));
    }
  }

  @Test
  void nullsInWritesAreNamed() {
    BytesStore<?, ?> bytes = BytesStore.wrap(KEY);
    names("key", () -> store.put((byte[]) null, VALUE));
    names("value", () -> store.put(KEY, (byte[]) null));
    names("key", () -> store.put(null, VALUE, DAY));
    names("value", () -> store.put(KEY, null, DAY));
    names("timeToLive", () -> store.put(KEY, VALUE, null));
    names("key", () -> store.putVersioned(null, VALUE));
    names("value", () -> store.putVersioned(KEY, null));
    names("timeToLive", () -> store.putVersioned(KEY, VALUE, null));
    names("key", () -> store.putUntil(null, VALUE, 1));
    names("value", () -> store.putUntil(KEY, null, 1));
    names("key", () -> store.put((BytesStore<?, ?>) null, bytes));
    names("value", () -> store.put(bytes, (BytesStore<?, ?>) null));
    names("key", () -> store.delete(null));
    names("fromInclusive", () -> store.deleteRange(null, KEY));
    names("toExclusive", () -> store.deleteRange(KEY, null));
    names("batch", () -> store.write(null));
    names("batch", () -> store.writeVersioned(null));
    names("batch", () -> store.write(null, Durability.sync()));
    names("durability", () -> store.write(new WriteBatch(), null));
    names("key", () -> store.compareAndSet(null, null, VALUE));
    names("value", () -> store.compareAndSet(KEY, VALUE, null));
    names("key", () -> store.compareAndDelete(null, VALUE));
    names("expected", () -> store.compareAndDelete(KEY, null));
    names("key", () -> store.increment(null, 1));
    names("key", () -> store.compute(null, value -> value));
    names("function", () -> store.compute(KEY, null));
    names("key", () -> store.expire(null, DAY));
    names("timeToLive", () -> store.expire(KEY, null));
    WriteBatch batch = new WriteBatch();
    names("key", () -> batch.put(null, VALUE));
    names("value", () -> batch.put(KEY, null));
    names("timeToLive", () -> batch.put(KEY, VALUE, null));
    names("key", () -> batch.delete(null));
    names("from", () -> batch.deleteRange(null, KEY));
    names("to", () -> batch.deleteRange(KEY, null));
    names("keyspace", () -> batch.in(null));
    assertEquals(0, batch.count());
  }

  @Test
  void nullsInTransactionsAreNamed() {
    names("work", () -> store.transact(null));
    try (Transaction transaction = store.begin()) {
      names("key", () -> transaction.get(null));
      names("key", () -> transaction.contains(null));
      names("keys", () -> transaction.getAll(Arrays.asList(KEY, null)));
      names("reader", () -> transaction.read(KEY, null));
      names("key", () -> transaction.readWithInfo(null, (info, view) -> info));
      names("reader", () -> transaction.readWithInfo(KEY, null));
      names("target", () -> transaction.get(BytesStore.wrap(KEY), null));
      names("key", () -> transaction.get(null, ByteBuffer.allocate(1)));
      names("target", () -> transaction.get(KEY, (ByteBuffer) null));
      names("options", () -> transaction.cursor(null));
      names("value", () -> transaction.put(KEY, null));
      names("value", () -> transaction.putVersioned(KEY, null));
      names("timeToLive", () -> transaction.put(KEY, VALUE, null));
      names("key", () -> transaction.delete(null));
      names("toExclusive", () -> transaction.deleteRange(KEY, null));
      names("key", () -> transaction.increment(null, 1));
      names("key", () -> transaction.compute(null, value -> value));
      names("function", () -> transaction.compute(KEY, null));
      names("key", () -> transaction.expire(null, DAY));
      names("timeToLive", () -> transaction.expire(KEY, null));
      names("keyspace", () -> transaction.in(null));
      transaction.commit();
    }
  }

  @Test
  void nullsInWriteBuffersAreNamed() {
    try (WriteBuffer buffer = store.buffer()) {
      names("key", () -> buffer.get(null));
      names("value", () -> buffer.put(KEY, null));
      names("keyspace", () -> buffer.in(null));
      names("extra", () -> buffer.commit(null));
      buffer.commit();
    }
  }

  @Test
  void nullsOfKeyspacesAreNamed() {
    names("name", () -> store.keyspace(null));
    names("names", () -> store.keyspaces(null));
    names("names", () -> store.keyspaces(Arrays.asList("name", null)));
    names("keyspace", () -> store.stats(null));
    names("keyspace", () -> store.dropKeyspace(null));
    names("keyspace", () -> store.in(null));
    try (Snapshot snapshot = store.snapshot()) {
      names("keyspace", () -> snapshot.in(null));
    }
  }

  @Test
  void nullsInOptionsAreNamed() {
    names("directory", () -> KvStore.open(null));
    names("options", () -> KvStore.open(directory, null));
    names("options", () -> KvStore.inMemory(null));
    names("closedStore", () -> KvStore.copy(null, directory));
    names("target", () -> KvStore.copy(directory, null));
    names("durability", () -> KvOptions.builder().durability(null));
    names("clock", () -> KvOptions.builder().clock(null));
    names("valueCompression", () -> KvOptions.builder().valueCompression(null));
    names("syncInterval", () -> Durability.async(null));
  }

  @Test
  void aTimeToLiveIsPositive() {
    for (Duration wrong : List.of(Duration.ZERO, Duration.ofNanos(-1), Duration.ofDays(-400))) {
      assertThrows(IllegalArgumentException.class, () -> store.put(KEY, VALUE, wrong));
      WriteBatch batch = new WriteBatch();
      assertThrows(IllegalArgumentException.class, () -> batch.put(KEY, VALUE, wrong));
      assertThrows(IllegalArgumentException.class, () -> Durability.async(wrong));
      assertThrows(IllegalArgumentException.class, () -> store.expire(KEY, wrong));
      assertThrows(IllegalArgumentException.class, () -> store.expire(VALUE, wrong));
      assertEquals(0, batch.count());
    }
  }

  @Test
  void allProblemsOfTheOptionsAreToldAtOnce() {
    KvOptions.Builder builder =
        KvOptions.builder()
            .memoryBudgetBytes(1)
            .inlineValueBytesMax(-1)
            .segmentBytes(5)
            .valueCompressionBytesMin(-7)
            .spaceAmplificationMax(Double.NaN)
            .backgroundThreads(0)
            .readOnly(true)
            .createIfMissing(false)
            .exclusive(true);
    String message = assertThrows(IllegalArgumentException.class, builder::build).getMessage();
    for (String name :
        List.of(
            "memoryBudgetBytes",
            "inlineValueBytesMax",
            "segmentBytes",
            "valueCompressionBytesMin",
            "spaceAmplificationMax",
            "backgroundThreads",
            "readOnly",
            "createIfMissing",
            "exclusive")) {
      assertTrue(message.contains(name), () -> name + " in: " + message);
    }
  }

  @Test
  void optionsWithWhichNoStoreCanBeOpenedAreRefused() {
    for (KvOptions.Builder wrong :
        List.of(
            KvOptions.builder().exclusive(true).readOnly(true),
            KvOptions.builder().exclusive(true).createIfMissing(false))) {
      assertThrows(IllegalArgumentException.class, wrong::build);
    }
  }

  @Test
  void theOptionsSayTheirLimits() {
    KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
    for (KvOptions.Builder wrong :
        List.of(
            KvOptions.builder().memoryBudgetBytes((16 << 20) - 1),
            KvOptions.builder().segmentBytes((1 << 20) - 1),
            KvOptions.builder().segmentBytes(Long.MAX_VALUE),
            KvOptions.builder().inlineValueBytesMax(Integer.MAX_VALUE))) {
      assertThrows(IllegalArgumentException.class, wrong::build);
    }
  }

  @Test
  void optionsThatWereBuiltDoNotChangeWithTheirBuilder() {
    KvOptions.Builder builder = KvOptions.builder().segmentBytes(2 << 20);
    KvOptions options = builder.build();
    builder.segmentBytes(4 << 20);
    assertEquals(2 << 20, options.segmentBytes());
  }

  @Test
  void aCursorThatStandsOnNothingHasNoEntry() {
    try (KvCursor cursor = store.cursor()) {
      for (int i = 0; i < 2; i++) {
        assertThrows(IllegalStateException.class, cursor::key);
        assertThrows(IllegalStateException.class, cursor::value);
        assertThrows(IllegalStateException.class, cursor::keyView);
        assertThrows(IllegalStateException.class, cursor::valueView);
        assertThrows(IllegalStateException.class, cursor::valueLength);
        assertThrows(IllegalStateException.class, cursor::expiresAtMillis);
        cursor.next();
        cursor.next();
      }
    }
    try (KvCursor cursor = store.cursor(ScanOptions.all().keysOnly())) {
      assertTrue(cursor.next());
      assertThrows(IllegalStateException.class, cursor::value);
      assertThrows(IllegalStateException.class, cursor::valueView);
      assertEquals(VALUE.length, cursor.valueLength());
    }
  }

  @Test
  void absentIsNullAndNoError() {
    byte[] absent = {1};
    assertNull(store.get(absent));
    assertEquals(-1, store.get(BytesStore.wrap(absent), Bytes.allocateElasticOnHeap()));
    assertEquals(-1, store.get(absent, ByteBuffer.allocate(0)));
    assertNull(store.read(absent, view -> view == null ? null : "a view"));
    assertNull(store.readWithInfo(absent, (info, view) -> "an entry"));
    assertNull(store.readWithInfo(absent, 0, (info, view) -> "an entry"));
  }

  private static void names(String parameter, Executable call) {
    NullPointerException error = assertThrows(NullPointerException.class, call);
    String message = String.valueOf(error.getMessage());
    assertTrue(message.contains(parameter), () -> parameter + " in: " + message);
  }
}
