package io.kvsep.kafka.streams;

import java.util.Collection;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.api.RecordMetadata;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.query.PositionBound;
import org.apache.kafka.streams.query.Query;
import org.apache.kafka.streams.query.QueryConfig;
import org.apache.kafka.streams.query.QueryResult;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What all state stores have in common: life cycle, offsets, position and queries. Reads, also by
 * interactive queries from other threads, wait at most for a write of 32 KiB.
 */
abstract class KvsepStore implements StateStore {
  static final Logger LOG = LoggerFactory.getLogger(KvsepStore.class);

  private final String name;
  private final Set<AutoCloseable> openCursors = ConcurrentHashMap.newKeySet();
  private @Nullable StateStoreContext context;
  private boolean restoresPosition;
  private volatile @Nullable TaskKeyspace keyspace;

  KvsepStore(String name) {
    this.name = Objects.requireNonNull(name, "name");
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public void init(StateStoreContext stateStoreContext, StateStore root) {
    context = stateStoreContext;
    restoresPosition = Changelog.hasPositions(stateStoreContext);
    beforeOpen(stateStoreContext);
    keyspace = TaskKeyspace.open(stateStoreContext, name);
    stateStoreContext.register(
        root, Changelog.callback(this::restoreBatch), () -> keyspace().commitPosition());
  }

  /** Called by {@link #init}, before the store is open. */
  void beforeOpen(StateStoreContext stateStoreContext) {}

  @Override
  public boolean isOpen() {
    return keyspace != null;
  }

  @Override
  public boolean persistent() {
    return true;
  }

  @Override
  public void close() {
    TaskKeyspace open = keyspace;
    if (open == null) {
      return;
    }
    keyspace = null;
    for (AutoCloseable cursor : openCursors) {
      try {
        cursor.close();
      } catch (Exception e) {
        LOG.warn("Closing an iterator of store {}", name, e);
      }
    }
    openCursors.clear();
    open.close();
  }

  /** Iterators that {@link #close} ends. */
  Set<AutoCloseable> openCursors() {
    return openCursors;
  }

  /** {@return the keyspace of the open store} */
  TaskKeyspace keyspace() {
    TaskKeyspace open = keyspace;
    if (open == null) {
      throw new InvalidStateStoreException("store " + name + " is closed");
    }
    return open;
  }

  StateStoreContext context() {
    return Objects.requireNonNull(context, "init has not been called");
  }

  /** Notes that the record which is being processed has reached the store. */
  void updatePosition() {
    RecordMetadata record = context().recordMetadata().orElse(null);
    if (record != null && record.topic() != null) {
      Position position = keyspace().position();
      synchronized (position) {
        position.withComponent(record.topic(), record.partition(), record.offset());
      }
    }
  }

  private void restoreBatch(Collection<ConsumerRecord<byte[], byte[]>> records) {
    TaskKeyspace open = keyspace;
    if (open == null) {
      open = TaskKeyspace.open(context(), name);
      keyspace = open;
    }
    Position position = open.position();
    open.restore(
        writes -> {
          synchronized (position) {
            restore(
                records,
                writes,
                record -> {
                  if (restoresPosition) {
                    Changelog.updatePosition(record, position);
                  }
                });
          }
        });
  }

  /**
   * Writes what the records say.
   *
   * @param records of the changelog
   * @param writes receives the writes
   * @param applied must be called with each record that the store keeps
   */
  abstract void restore(
      Collection<ConsumerRecord<byte[], byte[]>> records,
      Writes writes,
      Consumer<ConsumerRecord<byte[], byte[]>> applied);

  @Override
  public void commit(Map<TopicPartition, Long> changelogOffsets) {
    TaskKeyspace open = keyspace;
    if (open != null) {
      open.commit(changelogOffsets);
    }
  }

  @Override
  @SuppressWarnings("deprecation") // Kafka asks for it until it takes it for granted.
  public boolean managesOffsets() {
    return true;
  }

  @Override
  public @Nullable Long committedOffset(TopicPartition partition) {
    return keyspace().committedOffset(partition);
  }

  /**
   * {@return bytes of writes that no commit has ended} Kafka 4.4 asks for it, and 4.3 does not know
   * it.
   */
  public long approximateNumUncommittedBytes() {
    TaskKeyspace open = keyspace;
    return open == null ? 0 : open.uncommittedBytes();
  }

  @Override
  public Position getPosition() {
    return keyspace().position();
  }

  @Override
  public <R> QueryResult<R> query(Query<R> query, PositionBound positionBound, QueryConfig config) {
    return BasicQueries.answer(
        query, positionBound, config, this, keyspace().visiblePosition(), context());
  }

  /** Tells of bounds that select nothing in the words of Kafka's stores. */
  static void warnOfInvalidRange() {
    LOG.warn(
        "Returning empty iterator for fetch with invalid key range: from > to. This may be due to"
            + " range arguments set in the wrong order, or serdes that don't preserve ordering when"
            + " lexicographically comparing the serialized bytes. Note that the built-in numerical"
            + " serdes do not follow this for negative numbers");
  }
}
