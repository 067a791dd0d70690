package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.kstream.Windowed;
import org.apache.kafka.streams.kstream.internals.SessionWindow;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.query.FailureReason;
import org.apache.kafka.streams.query.KeyQuery;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.apache.kafka.streams.query.RangeQuery;
import org.apache.kafka.streams.query.VersionedKeyQuery;
import org.apache.kafka.streams.query.WindowKeyQuery;
import org.apache.kafka.streams.query.WindowRangeQuery;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.SessionStore;
import org.apache.kafka.streams.state.StoreBuilder;
import org.apache.kafka.streams.state.Stores;
import org.apache.kafka.streams.state.TimestampedKeyValueStoreWithHeaders;
import org.apache.kafka.streams.state.ValueTimestampHeaders;
import org.apache.kafka.streams.state.VersionedKeyValueStore;
import org.apache.kafka.streams.state.VersionedRecord;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.WindowStoreIterator;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Interactive queries of the second version. */
final class QueryTest {
  @TempDir private Path directory;

  private final List<StateStore> opened = new ArrayList<>();

  private <S extends StateStore> S open(StoreBuilder<S> builder) throws Exception {
    S store = builder.withLoggingDisabled().build();
    InternalMockProcessorContext<?, ?> context = Contexts.in(directory, Map.of());
    context.setRecordContext(new ProcessorRecordContext(0, 7, 0, "input", new RecordHeaders()));
    store.init((StateStoreContext) context, store);
    opened.add(store);
    return store;
  }

  @AfterEach
  void close() {
    opened.forEach(StateStore::close);
  }

  private static <R> QueryResult<R> ask(StateStore store, Query<R> query) {
    return store.query(query, PositionBound.unbounded(), new QueryConfig(true));
  }

  private static <V> List<V> values(KeyValueIterator<?, V> found) {
    List<V> values = new ArrayList<>();
    try (found) {
      found.forEachRemaining(entry -> values.add(entry.value));
    }
    return values;
  }

  @Test
  void keyValueStoreAnswersKeysRangesAndBounds() throws Exception {
    KeyValueStore<String, Long> store =
        open(
            Stores.keyValueStoreBuilder(
                KvsepStores.persistentKeyValueStore("s"), Serdes.String(), Serdes.Long()));
    store.put("a", 1L);
    store.put("b", 2L);
    store.put("c", 3L);
    assertEquals(2L, ask(store, KeyQuery.<String, Long>withKey("b")).getResult());
    assertEquals(
        List.of(3L, 2L),
        values(
            ask(store, RangeQuery.<String, Long>withLowerBound("b").withDescendingKeys())
                .getResult()));

    Query<Long> query = KeyQuery.withKey("b");
    Position seen = Position.emptyPosition().withComponent("input", 0, 7);
    assertTrue(store.query(query, PositionBound.at(seen), new QueryConfig(false)).isSuccess());
    Position later = Position.emptyPosition().withComponent("input", 0, 8);
    QueryResult<Long> tooEarly =
        store.query(query, PositionBound.at(later), new QueryConfig(false));
    assertFalse(tooEarly.isSuccess());
    assertEquals(FailureReason.NOT_UP_TO_BOUND, tooEarly.getFailureReason());
  }

  @Test
  void storeWithHeadersAnswersKeys() throws Exception {
    TimestampedKeyValueStoreWithHeaders<String, Long> store =
        open(
            Stores.timestampedKeyValueStoreWithHeadersBuilder(
                KvsepStores.persistentTimestampedKeyValueStoreWithHeaders("s"),
                Serdes.String(),
                Serdes.Long()));
    store.put("a", ValueTimestampHeaders.make(1L, 5, new RecordHeaders()));
    assertEquals(1L, ask(store, KeyQuery.<String, Long>withKey("a")).getResult());
  }

  @Test
  void windowAndSessionStoresAnswerKeys() throws Exception {
    WindowStore<String, Long> windows =
        open(
            Stores.windowStoreBuilder(
                KvsepStores.persistentWindowStore(
                    "w", Duration.ofMinutes(1), Duration.ofSeconds(1), false),
                Serdes.String(),
                Serdes.Long()));
    windows.put("a", 1L, 0);
    windows.put("a", 2L, 1_000);
    QueryResult<WindowStoreIterator<Long>> found =
        ask(
            windows,
            WindowKeyQuery.withKeyAndWindowStartRange(
                "a", Instant.ofEpochMilli(500), Instant.ofEpochMilli(2_000)));
    assertEquals(List.of(2L), values(found.getResult()));

    SessionStore<String, Long> sessions =
        open(
            Stores.sessionStoreBuilder(
                KvsepStores.persistentSessionStore("x", Duration.ofMinutes(1)),
                Serdes.String(),
                Serdes.Long()));
    sessions.put(new Windowed<>("a", new SessionWindow(0, 10)), 3L);
    assertEquals(
        List.of(3L),
        values(ask(sessions, WindowRangeQuery.<String, Long>withKey("a")).getResult()));
  }

  @Test
  void versionedStoreAnswersForTime() throws Exception {
    VersionedKeyValueStore<String, Long> store =
        open(
            Stores.versionedKeyValueStoreBuilder(
                KvsepStores.persistentVersionedKeyValueStore("s", Duration.ofMinutes(1)),
                Serdes.String(),
                Serdes.Long()));
    store.put("a", 1L, 10);
    store.put("a", 2L, 20);
    VersionedRecord<Long> found =
        ask(store, VersionedKeyQuery.<String, Long>withKey("a").asOf(Instant.ofEpochMilli(15)))
            .getResult();
    assertEquals(1L, found.value());
    assertEquals(10, found.timestamp());
    assertEquals(Optional.of(20L), found.validTo());
  }
}
