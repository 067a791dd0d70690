package io.kvsep.kafka.streams;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreClosedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.regex.Pattern;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.query.Position;
import org.jspecify.annotations.Nullable;

/**
 * The open keyspace of one state store of one task: its data, and beside it, in a keyspace that all
 * share, what Kafka wants to know about it.
 *
 * <pre>
 * key in the shared keyspace                       value
 * name (32 bytes), 's'                             1: open, may have uncommitted data; 0: has none
 * name (32 bytes), 'p'                             position: per topic its length (4 bytes), its
 *                                                  name, count of partitions (4), and for each its
 *                                                  number (4) and offset (8)
 * name (32 bytes), 'o'                             committed offsets, as the position
 * </pre>
 *
 * <p>All offsets have one key: a cursor would make writes to the next memtables slower.
 *
 * <p>A commit writes offsets and position in one batch behind the data in the same log: after a
 * crash they are never ahead of the data. Before it, writes may be {@link PendingWrites}. With
 * transactional stores, which Kafka 4.4 has, data waits in a buffer and the batch has it too: after
 * a crash there is what was committed and nothing else. The thread of the task reads the buffer
 * over the store, other threads what is committed.
 *
 * <p>Errors of the store become {@link ProcessorStateException}, use after close {@link
 * InvalidStateStoreException}. Reads are thread safe; writes come from the thread of the task.
 */
final class TaskKeyspace {
  static final String FILE_NAME = "keyspace";

  private static final int NAME_LENGTH = 32;
  private static final Pattern NAME = Pattern.compile("[0-9a-f]{" + NAME_LENGTH + "}");

  /** The partition in the id that Kafka gives to the task of global stores. */
  private static final int GLOBAL = -1;

  private static final byte STATUS = 's';
  private static final byte POSITION = 'p';
  private static final byte OFFSETS = 'o';
  private static final byte[] OPEN = {1};
  private static final byte[] CLOSED = {0};

  private final String storeName;
  private final InstanceStore instance;
  private final Keyspace keyspace;
  private final byte[] name;
  private final KeyspaceView view;
  private final PendingWrites pending;
  private final KeyspaceView meta;
  private final Position position;

  /** What the shared keyspace has; never changed, replaced once a write has succeeded. */
  private volatile Map<TopicPartition, Long> offsets;

  /** As the offsets. */
  private volatile Position writtenPosition;

  /** Whether writes wait in the buffer until a commit ends them. */
  private final boolean transactional;

  /** Used by the thread of the task alone. */
  private final WriteBuffer buffer;

  /** The thread of the task, as far as it has written. */
  private volatile @Nullable Thread writer;

  /** Whether data has come in since the opening. */
  private boolean written;

  private volatile boolean closed;

  private TaskKeyspace(
      StateStoreContext context, String storeName, StoreSettings settings, InstanceStore instance) {
    this.storeName = storeName;
    this.instance = instance;
    String keyspaceName = name(context, storeName);
    name = keyspaceName.getBytes(US_ASCII);
    meta = instance.store().in(instance.meta());
    transactional = settings.transactional();
    byte[] status = meta.get(metaKey(STATUS));
    if (settings.exactlyOnce() && status != null && status[0] == OPEN[0]) {
      if (context.taskId().partition() != GLOBAL) {
        // For this exception Kafka deletes the state and goes on.
        throw new TaskCorruptedException(
            Set.of(context.taskId()),
            new ProcessorStateException(
                "store "
                    + storeName
                    + " was not closed cleanly and may hold uncommitted data, which exactly-once"
                    + " does not allow"));
      }
      // Kafka deletes the state of global stores too, but then fails the start.
      instance.clear(keyspaceName);
    }
    keyspace = instance.store().keyspace(keyspaceName);
    view = instance.store().in(keyspace);
    pending = new PendingWrites(instance.store(), keyspace);
    meta.put(metaKey(STATUS), transactional ? CLOSED : OPEN);
    buffer = instance.store().buffer();
    byte[] bytes = meta.get(metaKey(POSITION));
    position = bytes == null ? Position.emptyPosition() : decodePosition(ByteBuffer.wrap(bytes));
    writtenPosition = position.copy();
    byte[] committed = meta.get(metaKey(OFFSETS));
    offsets = committed == null ? Map.of() : offsets(decodePosition(ByteBuffer.wrap(committed)));
  }

  static TaskKeyspace open(StateStoreContext context, String storeName) {
    return open(context, storeName, StoreSettings.of(context));
  }

  static TaskKeyspace open(StateStoreContext context, String storeName, StoreSettings settings) {
    InstanceStore instance = InstanceStore.acquire(settings);
    try {
      return new TaskKeyspace(context, storeName, settings, instance);
    } catch (KvException e) {
      instance.release();
      throw new ProcessorStateException("cannot open store " + storeName, e);
    } catch (RuntimeException | Error e) {
      instance.release();
      throw e;
    }
  }

  /** Marks the state as closed cleanly; idempotent. */
  synchronized void close() {
    if (closed) {
      return;
    }
    closed = true;
    try {
      pending.flush();
      buffer.close();
      meta.put(metaKey(STATUS), CLOSED);
    } catch (KvException e) {
      throw translated(e);
    } finally {
      instance.release();
    }
  }

  byte @Nullable [] get(byte[] key) {
    checkOpen();
    try {
      return transactional ? reader().get(key) : pending.get(key);
    } catch (KvException e) {
      throw translated(e);
    }
  }

  KvCursor cursor(ScanOptions options) {
    checkOpen();
    try {
      pending.flush();
      return reader().cursor(options);
    } catch (KvException e) {
      throw translated(e);
    }
  }

  void put(byte[] key, byte @Nullable [] value) {
    checkOpen();
    try {
      if (!transactional) {
        pending.put(key, value);
      } else if (value == null) {
        buffered().delete(key);
      } else {
        buffered().put(key, value);
      }
      written = true;
    } catch (KvException e) {
      throw translated(e);
    }
  }

  /** Does several writes at once. */
  void write(Consumer<Writes> work) {
    checkOpen();
    try {
      if (transactional) {
        work.accept(Writes.to(buffered()));
      } else {
        pending.write(work);
      }
      written = true;
    } catch (KvException e) {
      throw translated(e);
    }
  }

  /** Does work that reads what it writes, and writes it all at once. */
  <R extends @Nullable Object> R buffered(Function<KvView, R> work) {
    checkOpen();
    try {
      pending.flush();
      R result = work.apply(buffered());
      if (!transactional) {
        buffer.commit();
      }
      written = true;
      return result;
    } catch (KvException e) {
      throw translated(e);
    } finally {
      if (!transactional) {
        buffer.discard();
      }
    }
  }

  /** As {@link #write}, for what the changelog has, which is committed. */
  void restore(Consumer<Writes> work) {
    checkOpen();
    try {
      pending.flush();
      WriteBatch batch = new WriteBatch().in(keyspace);
      work.accept(Writes.to(batch));
      if (batch.count() > 0) {
        instance.store().write(batch);
      }
      written = true;
    } catch (KvException e) {
      throw translated(e);
    }
  }

  /** As {@link #buffered}, for what the changelog has, which is committed. */
  void restoreBuffered(Consumer<KvView> work) {
    checkOpen();
    try {
      pending.flush();
      work.accept(buffered());
      buffer.commit();
      written = true;
    } catch (KvException e) {
      throw translated(e);
    } finally {
      buffer.discard();
    }
  }

  /** The buffer, for the thread of the task. */
  private KvView buffered() {
    if (writer != Thread.currentThread()) {
      writer = Thread.currentThread();
    }
    return buffer.in(keyspace);
  }

  /** The thread that writes reads its uncommitted writes, others do not. */
  private KvReader reader() {
    return transactional && writer == Thread.currentThread() ? buffer.in(keyspace) : view;
  }

  long entriesEstimate() {
    checkOpen();
    try {
      pending.flush();
      return instance.store().stats(keyspace).entriesEstimate();
    } catch (KvException e) {
      throw translated(e);
    }
  }

  /** {@return the position; synchronize on it to change it} */
  Position position() {
    return position;
  }

  /** {@return the position of what this thread can read} */
  Position visiblePosition() {
    return transactional && writer != Thread.currentThread() ? writtenPosition : position;
  }

  /** {@return bytes of writes that no commit has ended; for the thread of the task} */
  long uncommittedBytes() {
    return transactional && !closed ? buffer.bytes() : 0;
  }

  @Nullable Long committedOffset(TopicPartition partition) {
    checkOpen();
    return offsets.get(partition);
  }

  /**
   * As {@link org.apache.kafka.streams.processor.StateStore#commit}, with the position.
   *
   * <p>Offsets that come before any data are ignored, except negative ones, which Kafka writes for
   * "none yet": at its start Kafka commits the offsets of a {@code .checkpoint} file, and these are
   * about the data of another kind of store.
   */
  void commit(Map<TopicPartition, Long> changelogOffsets) {
    checkOpen();
    Map<TopicPartition, Long> before = offsets;
    Map<TopicPartition, Long> after =
        changelogOffsets.isEmpty() ? new HashMap<>() : new HashMap<>(before);
    changelogOffsets.forEach(
        (partition, offset) -> {
          if (offset == null) {
            after.remove(partition);
          } else if (written || offset < 0) {
            after.put(partition, offset);
          }
        });
    WriteBatch batch = new WriteBatch().in(instance.meta());
    if (!after.equals(before)) {
      batch.put(metaKey(OFFSETS), encode(position(after)));
    }
    flushPending();
    Position now = addPosition(batch);
    if (transactional && buffer.bytes() > 0) {
      try {
        buffer.commit(batch);
        instance.committed();
      } catch (KvException e) {
        throw translated(e);
      }
    } else {
      commit(batch);
    }
    offsets = after;
    writtenPosition = now;
  }

  /** Writes the position if it has changed. */
  void commitPosition() {
    checkOpen();
    flushPending();
    WriteBatch batch = new WriteBatch().in(instance.meta());
    Position now = addPosition(batch);
    commit(batch);
    writtenPosition = now;
  }

  /** {@return the position, added to the batch if it has changed} */
  private Position addPosition(WriteBatch batch) {
    Position now;
    synchronized (position) {
      now = position.copy();
    }
    if (!now.equals(writtenPosition)) {
      batch.put(metaKey(POSITION), encode(now));
    }
    return now;
  }

  private void flushPending() {
    try {
      pending.flush();
    } catch (KvException e) {
      throw translated(e);
    }
  }

  private void commit(WriteBatch batch) {
    if (batch.count() == 0) {
      return;
    }
    try {
      instance.commit(batch);
    } catch (KvException e) {
      throw translated(e);
    }
  }

  RuntimeException translated(KvException e) {
    return e instanceof StoreClosedException
        ? new InvalidStateStoreException("store " + storeName + " is closed", e)
        : new ProcessorStateException("store " + storeName + ": " + e.getMessage(), e);
  }

  private void checkOpen() {
    if (closed) {
      throw new InvalidStateStoreException("store " + storeName + " is closed");
    }
  }

  private byte[] metaKey(byte kind) {
    byte[] key = Arrays.copyOf(name, NAME_LENGTH + 1);
    key[NAME_LENGTH] = kind;
    return key;
  }

  private static Position position(Map<TopicPartition, Long> offsets) {
    Position position = Position.emptyPosition();
    offsets.forEach(
        (partition, offset) ->
            position.withComponent(partition.topic(), partition.partition(), offset));
    return position;
  }

  private static Map<TopicPartition, Long> offsets(Position position) {
    Map<TopicPartition, Long> offsets = new HashMap<>();
    for (String topic : position.getTopics()) {
      position
          .getPartitionPositions(topic)
          .forEach(
              (partition, offset) -> offsets.put(new TopicPartition(topic, partition), offset));
    }
    return offsets;
  }

  /** Adds the deletion of all that the shared keyspace has about a keyspace. */
  static WriteBatch deleteMeta(WriteBatch batch, String keyspaceName) {
    byte[] from = keyspaceName.getBytes(UTF_8);
    byte[] to = from.clone();
    to[to.length - 1]++;
    return batch.deleteRange(from, to);
  }

  private static byte[] encode(Position position) {
    List<ByteBuffer> topics = new ArrayList<>();
    int length = 0;
    for (String topic : position.getTopics()) {
      byte[] name = topic.getBytes(UTF_8);
      Map<Integer, Long> partitions = position.getPartitionPositions(topic);
      ByteBuffer part =
          ByteBuffer.allocate(
              2 * Integer.BYTES + name.length + (Integer.BYTES + Long.BYTES) * partitions.size());
      part.putInt(name.length).put(name).putInt(partitions.size());
      partitions.forEach((partition, offset) -> part.putInt(partition).putLong(offset));
      topics.add(part.flip());
      length += part.limit();
    }
    ByteBuffer all = ByteBuffer.allocate(length);
    topics.forEach(all::put);
    return all.array();
  }

  private static Position decodePosition(ByteBuffer buffer) {
    Position position = Position.emptyPosition();
    while (buffer.hasRemaining()) {
      byte[] topic = new byte[buffer.getInt()];
      buffer.get(topic);
      int partitions = buffer.getInt();
      for (int i = 0; i < partitions; i++) {
        position.withComponent(new String(topic, UTF_8), buffer.getInt(), buffer.getLong());
      }
    }
    return position;
  }

  /** {@return the name in a file, null if there is none} */
  static @Nullable String readName(Path file) {
    try {
      String text = Files.readString(file, US_ASCII);
      return isName(text) ? text : null;
    } catch (NoSuchFileException e) {
      return null;
    } catch (IOException e) {
      throw new ProcessorStateException("cannot read " + file, e);
    }
  }

  /** {@return whether a keyspace with this name can be that of a task} */
  static boolean isName(String text) {
    return NAME.matcher(text).matches();
  }

  private static String name(StateStoreContext context, String storeName) {
    Path directory = context.stateDir().toPath().resolve("kvsep").resolve(storeName);
    Path file = directory.resolve(FILE_NAME);
    String name = readName(file);
    if (name != null) {
      return name;
    }
    name = UUID.randomUUID().toString().replace("-", "");
    try {
      Files.createDirectories(directory);
      Path draft = directory.resolve(FILE_NAME + ".new");
      Files.writeString(draft, name, US_ASCII);
      Files.move(draft, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new ProcessorStateException("cannot write " + file, e);
    }
    return name;
  }
}
