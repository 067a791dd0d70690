package io.kvsep.kafka.streams;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.function.Function;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.DslStoreFormat;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.kstream.EmitStrategy;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.MultiVersionedKeyQuery;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.state.BuiltInDslStoreSuppliers;
import org.apache.kafka.streams.state.DslKeyValueParams;
import org.apache.kafka.streams.state.DslSessionParams;
import org.apache.kafka.streams.state.DslStoreSuppliers;
import org.apache.kafka.streams.state.DslWindowParams;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.VersionedBytesStoreSupplier;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.VersionedRecordIterator;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Random calls answered as Kafka's RocksDB stores answer them, also by a restored store. */
final class SameAsRocksDbTest {
  private static final DslStoreSuppliers ROCKSDB = BuiltInDslStoreSuppliers.ROCKS_DB;
  private static final DslStoreSuppliers KVSEP = new KvsepStoreSuppliers();
  private static final int STEPS = 400;

  @TempDir private Path directory;

  /** Gives a store and its context to a test and closes it. */
  private <S extends StateStore, R> R with(String name, S store, Function<Opened<S>, R> test) {
    Path folder = directory.resolve(name);
    try {
      Files.createDirectories(folder);
      InternalMockProcessorContext<?, ?> context = Contexts.in(folder, Map.of());
      store.init((StateStoreContext) context, store);
      try {
        return test.apply(new Opened<>(store, context));
      } finally {
        store.close();
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
  }

  private record Opened<S extends StateStore>(S store, InternalMockProcessorContext<?, ?> context) {
    void restore(List<KeyValue<byte[], byte[]>> changelog) {
      context.restore(store.name(), changelog);
    }
  }

  /** Runs the same calls on both; each returns what it was answered. */
  private <S extends StateStore> void compare(
      String method, Function<DslStoreSuppliers, S> stores, Calls<S> calls) {
    Seeds.some(
        SameAsRocksDbTest.class,
        method,
        /* all= */ 200,
        /* count= */ 1,
        seed -> {
          List<KeyValue<byte[], byte[]>> changelog = new ArrayList<>();
          String id = method + seed + System.nanoTime();
          List<String> expected =
              with(
                  id + "r",
                  stores.apply(ROCKSDB),
                  rocks -> calls.make(rocks.store(), new Random(seed), new ArrayList<>()));
          List<String> found =
              with(
                  id + "k",
                  stores.apply(KVSEP),
                  kvsep -> calls.make(kvsep.store(), new Random(seed), changelog));
          assertSame(expected, found);
          // As after a restart on another machine: more calls, on what the changelog brought.
          Function<Opened<S>, List<String>> restored =
              opened -> {
                opened.restore(changelog);
                return calls.make(opened.store(), new Random(~seed), new ArrayList<>());
              };
          assertSame(
              with(id + "rr", stores.apply(ROCKSDB), restored),
              with(id + "kr", stores.apply(KVSEP), restored));
        });
  }

  private static void assertSame(List<String> expected, List<String> found) {
    for (int i = 0; i < Math.min(expected.size(), found.size()); i++) {
      assertEquals(expected.get(i), found.get(i), "call " + i);
    }
    assertEquals(expected.size(), found.size());
  }

  private interface Calls<S> {
    List<String> make(S store, Random random, List<KeyValue<byte[], byte[]>> changelog);
  }

  @Test
  void keyValueStore() {
    compare(
        "keyValueStore",
        suppliers ->
            suppliers.keyValueStore(new DslKeyValueParams("s", DslStoreFormat.PLAIN)).get(),
        this::callKeyValueStore);
  }

  private List<String> callKeyValueStore(
      KeyValueStore<Bytes, byte[]> store, Random random, List<KeyValue<byte[], byte[]>> changelog) {
    List<String> answers = new ArrayList<>();
    for (int i = 0; i < STEPS; i++) {
      Bytes key = anyKey(random);
      Bytes other = anyKey(random);
      byte @Nullable [] value = value(random, i);
      switch (random.nextInt(12)) {
        case 0, 1, 2, 3 -> {
          store.put(key, value);
          changelog.add(KeyValue.pair(key.get(), value));
        }
        case 4 -> {
          byte @Nullable [] before = store.putIfAbsent(key, value);
          answers.add("putIfAbsent " + text(before));
          if (before == null) {
            changelog.add(KeyValue.pair(key.get(), value));
          }
        }
        case 5 -> {
          store.putAll(List.of(KeyValue.pair(key, value), KeyValue.pair(other, value)));
          changelog.add(KeyValue.pair(key.get(), value));
          changelog.add(KeyValue.pair(other.get(), value));
        }
        case 6 -> {
          answers.add("delete " + text(store.delete(key)));
          changelog.add(KeyValue.pair(key.get(), null));
        }
        case 7 -> answers.add("get " + text(store.get(key)));
        case 8 -> answers.add("range " + all(store.range(key, other)));
        case 9 -> answers.add("reverse " + all(store.reverseRange(key, other)));
        case 10 ->
            answers.add(
                "prefix " + all(store.prefixScan(prefix(random), new ByteArraySerializer())));
        default -> {
          answers.add("all " + all(store.all()));
          answers.add("reverseAll " + all(store.reverseAll()));
          answers.add("from " + all(store.range(key, null)));
          answers.add("to " + all(store.range(null, key)));
        }
      }
    }
    return answers;
  }

  @ParameterizedTest
  @CsvSource({
    "false, false, false, PLAIN",
    "false, true, false, PLAIN",
    "false, false, false, HEADERS",
    "true, false, false, TIMESTAMPED",
    "true, false, true, TIMESTAMPED",
    "true, false, true, HEADERS"
  })
  void windowStore(boolean onClose, boolean duplicates, boolean sliding, DslStoreFormat format) {
    compare(
        "windowStore",
        suppliers ->
            suppliers
                .windowStore(
                    new DslWindowParams(
                        "s",
                        Duration.ofSeconds(150),
                        Duration.ofMillis(10),
                        duplicates,
                        onClose ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate(),
                        sliding,
                        format))
                .get(),
        this::callWindowStore);
  }

  private List<String> callWindowStore(
      WindowStore<Bytes, byte[]> store, Random random, List<KeyValue<byte[], byte[]>> changelog) {
    List<String> answers = new ArrayList<>();
    long now = 0;
    for (int i = 0; i < STEPS; i++) {
      now += random.nextInt(3_000);
      long start = Math.max(0, now - random.nextInt(200_000)) / 1_000 * 1_000;
      long to = start + random.nextInt(100_000);
      Bytes key = windowKey(random);
      Bytes other = windowKey(random);
      switch (random.nextInt(11)) {
        case 0, 1, 2, 3, 4 -> {
          byte @Nullable [] value = value(random, i);
          store.put(key, value, start);
          changelog.add(KeyValue.pair(SegmentLayout.windowKey(key.get(), start, 0), value));
        }
        case 5 -> answers.add("fetch " + text(store.fetch(key, start)));
        case 6 -> answers.add("key " + all(store.fetch(key, start, to)));
        case 7 -> answers.add("key back " + all(store.backwardFetch(key, start, to)));
        case 8 -> {
          answers.add("keys " + all(store.fetch(key, other, start, to)));
          answers.add("keys back " + all(store.backwardFetch(key, other, start, to)));
        }
        case 9 -> {
          answers.add("times " + all(store.fetchAll(start, to)));
          answers.add("times back " + all(store.backwardFetchAll(start, to)));
        }
        default -> {
          answers.add("all " + all(store.all()));
          answers.add("all back " + all(store.backwardAll()));
        }
      }
    }
    return answers;
  }

  @ParameterizedTest
  @CsvSource({"false, PLAIN", "true, PLAIN", "true, HEADERS"})
  void sessionStore(boolean onClose, DslStoreFormat format) {
    compare(
        "sessionStore",
        suppliers ->
            suppliers
                .sessionStore(
                    new DslSessionParams(
                        "s",
                        Duration.ofSeconds(150),
                        onClose ? EmitStrategy.onWindowClose() : EmitStrategy.onWindowUpdate(),
                        format))
                .get(),
        (store, random, changelog) -> callSessionStore(store, random, changelog, onClose));
  }

  private List<String> callSessionStore(
      SessionStore<Bytes, byte[]> store,
      Random random,
      List<KeyValue<byte[], byte[]>> changelog,
      boolean onClose) {
    List<String> answers = new ArrayList<>();
    long now = 0;
    for (int i = 0; i < STEPS; i++) {
      now += random.nextInt(3_000);
      long start = Math.max(0, now - random.nextInt(200_000)) / 1_000 * 1_000;
      long end = start + random.nextInt(20) * 1_000L;
      Bytes key = windowKey(random);
      Bytes other = windowKey(random);
      Windowed<Bytes> session = new Windowed<>(key, new SessionWindow(start, end));
      switch (random.nextInt(11)) {
        case 0, 1, 2, 3, 4 -> {
          byte @Nullable [] value = value(random, i);
          store.put(session, value);
          changelog.add(KeyValue.pair(SegmentLayout.sessionKey(key.get(), start, end), value));
        }
        case 5 -> {
          store.remove(session);
          changelog.add(KeyValue.pair(SegmentLayout.sessionKey(key.get(), start, end), null));
        }
        case 6 -> answers.add("session " + text(store.fetchSession(key, start, end)));
        case 7 -> {
          answers.add("find " + all(store.findSessions(key, start, end)));
          answers.add("find back " + all(store.backwardFindSessions(key, start, end)));
        }
        case 8 -> {
          answers.add("finds " + all(store.findSessions(key, other, start, end)));
          answers.add("finds back " + all(store.backwardFindSessions(key, other, start, end)));
        }
        case 9 -> {
          if (onClose) {
            long live = Math.max(start, now - 75_000);
            answers.add("times " + all(store.findSessions(live, live + 30_000)));
          }
        }
        default -> {
          answers.add("fetch " + all(store.fetch(key)));
          answers.add("fetch back " + all(store.backwardFetch(key, other)));
        }
      }
    }
    return answers;
  }

  @Test
  void versionedStore() {
    Duration retention = Duration.ofSeconds(40);
    compare(
        "versionedStore",
        suppliers -> {
          VersionedBytesStoreSupplier supplier =
              suppliers == KVSEP
                  ? KvsepStores.persistentVersionedKeyValueStore("s", retention)
                  : Stores.persistentVersionedKeyValueStore("s", retention);
          return Stores.versionedKeyValueStoreBuilder(supplier, Serdes.Bytes(), Serdes.ByteArray())
              .withLoggingDisabled()
              .build();
        },
        this::callVersionedStore);
  }

  private List<String> callVersionedStore(
      VersionedKeyValueStore<Bytes, byte[]> store,
      Random random,
      List<KeyValue<byte[], byte[]>> changelog) {
    List<String> answers = new ArrayList<>();
    long now = 0;
    for (int i = 0; i < STEPS; i++) {
      now += random.nextInt(3_000);
      long time = Math.max(0, now - random.nextInt(50_000)) / 1_000 * 1_000;
      Bytes key = anyKey(random);
      switch (random.nextInt(8)) {
        case 0, 1, 2 -> answers.add("put " + store.put(key, value(random, i), time));
        // Between the times of puts: RocksDB forgets a deletion in place of the latest version.
        case 3 -> answers.add("delete " + text(store.delete(key, time + 500)));
        case 4 -> answers.add("get " + text(store.get(key)));
        case 5, 6 -> answers.add("get at " + text(store.get(key, time)));
        default -> {
          MultiVersionedKeyQuery<Bytes, byte[]> query =
              MultiVersionedKeyQuery.<Bytes, byte[]>withKey(key)
                  .fromTime(Instant.ofEpochMilli(Math.max(time, now - 30_000)))
                  .toTime(Instant.ofEpochMilli(now));
          query =
              random.nextBoolean()
                  ? query.withAscendingTimestamps()
                  : query.withDescendingTimestamps();
          StringBuilder found = new StringBuilder("query");
          try (VersionedRecordIterator<byte[]> versions =
              store.query(query, PositionBound.unbounded(), new QueryConfig(false)).getResult()) {
            versions.forEachRemaining(version -> found.append(' ').append(text(version)));
          }
          answers.add(found.toString());
        }
      }
    }
    return answers;
  }

  /** Short, so that keys meet, are prefixes of each other, empty or begin with zeros. */
  private static Bytes anyKey(Random random) {
    return key(random, random.nextInt(4), new byte[] {0, 1, 'a', (byte) 0xff});
  }

  /** Kafka's ranges of windows miss keys that are empty or have bytes as times begin with. */
  private static Bytes windowKey(Random random) {
    return key(random, 1 + random.nextInt(3), new byte[] {'a', 'b', (byte) 0xff});
  }

  /** Kafka's scans go too far if the prefix ends with the highest byte. */
  private static byte[] prefix(Random random) {
    return key(random, random.nextInt(3), new byte[] {0, 1, 'a'}).get();
  }

  private static Bytes key(Random random, int length, byte[] alphabet) {
    byte[] key = new byte[length];
    for (int i = 0; i < key.length; i++) {
      key[i] = alphabet[random.nextInt(alphabet.length)];
    }
    return Bytes.wrap(key);
  }

  private static byte @Nullable [] value(Random random, int step) {
    return random.nextInt(5) == 0 ? null : Integer.toString(step).getBytes(US_ASCII);
  }

  private static <K> String all(KeyValueIterator<K, byte[]> entries) {
    StringBuilder result = new StringBuilder();
    try (entries) {
      while (entries.hasNext()) {
        K next = entries.peekNextKey();
        KeyValue<K, byte[]> entry = entries.next();
        assertEquals(next, entry.key);
        result.append(entry.key).append('=').append(text(entry.value)).append(' ');
      }
    }
    return result.toString();
  }

  private static String text(byte @Nullable [] value) {
    return value == null ? "none" : HexFormat.of().formatHex(value);
  }

  private static String text(@Nullable VersionedRecord<byte[]> record) {
    return record == null
        ? "none"
        : text(record.value()) + "@" + record.timestamp() + "-" + record.validTo().orElse(-1L);
  }
}
