package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.Snapshot;
import io.kvsep.Transaction;
import io.kvsep.WriteBatch;
import io.kvsep.WriteBuffer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The store of a replica. Entries are applied to a {@link WriteBuffer}, and one commit takes the
 * writes of many with the record of the last. The result depends on the entries alone, not on how
 * they are grouped, when they are applied or how often after a crash: conditions are evaluated at
 * the time of the entry, and the record says which entries the store has.
 *
 * <p>{@link #apply}, {@link #commit} and {@link #checkpoint} are for one thread; the others are
 * thread safe. After an exception of theirs the store must be closed and opened again.
 */
final class GroupStore implements AutoCloseable {
  /** The keyspace of the record. */
  static final String SYSTEM = "kvsep.cluster";

  private static final byte[] APPLIED = "applied".getBytes(StandardCharsets.UTF_8);

  private final KvStore store;
  private final GroupClock clock;
  private final Keyspace system;
  private final Map<String, Keyspace> keyspaces = new ConcurrentHashMap<>();
  private final WriteBuffer buffer;

  /** Held while the store changes, so that two views of one state can be opened. */
  private final ReentrantLock changes = new ReentrantLock();

  /** Of the committed writes. */
  private volatile Applied committed;

  /** With those in the buffer. */
  private Applied applied;

  /**
   * @param store opened with {@code clock} and without syncs; closed with this
   */
  GroupStore(KvStore store, GroupClock clock) throws MalformedEntryException {
    this.store = store;
    this.clock = clock;
    system = store.keyspace(SYSTEM);
    byte[] record = store.in(system).get(APPLIED);
    committed = record == null ? Applied.NOTHING : Applied.decode(record);
    applied = committed;
    // After a crash of the process alone, the last commits may be in the page cache only.
    store.sync();
    clock.reset(committed.timeMillis());
    for (String name : store.keyspaces()) {
      if (!name.equals(SYSTEM)) {
        keyspaces.put(name, store.keyspace(name));
      }
    }
    buffer = store.buffer();
  }

  KvStore store() {
    return store;
  }

  GroupClock clock() {
    return clock;
  }

  Applied committed() {
    return committed;
  }

  /** The index up to which readers see entries now, read after what they see. */
  long visibleIndex() {
    byte[] record = store.in(system).get(APPLIED);
    try {
      return record == null ? Applied.NOTHING.index() : Applied.decode(record).index();
    } catch (MalformedEntryException e) {
      throw new IllegalStateException("the record of the last entry is damaged", e);
    }
  }

  /** Names, sorted. */
  List<String> keyspaces() {
    return keyspaces.keySet().stream().sorted().toList();
  }

  @Nullable Keyspace keyspace(String name) {
    return keyspaces.get(name);
  }

  /** The newest state of a keyspace, null for the store's own. */
  KvReader reader(@Nullable String name) {
    return name == null ? store : store.in(required(name));
  }

  /** The keyspace of this name. */
  Keyspace required(String name) {
    Keyspace keyspace = keyspaces.get(name);
    if (keyspace == null) {
      throw new IllegalStateException("keyspace " + name + " was dropped");
    }
    return keyspace;
  }

  /** Bytes of the writes that are not committed yet. */
  long bufferedBytes() {
    return buffer.bytes();
  }

  /**
   * Applies an entry, unless the store has it. Its writes are visible after the next {@link
   * #commit}.
   *
   * @return an answer for each of its requests
   */
  List<Answer> apply(long term, long index, LogEntry entry) {
    if (index <= applied.index()) {
      return entry.requests().stream().map(GroupStore::answerAgain).toList();
    }
    clock.advance(entry.timeMillis());
    return GroupClock.at(
        clock.groupMillis(),
        () -> {
          List<Answer> answers = new ArrayList<>();
          for (Request request : entry.requests()) {
            answers.add(request.isAlone() ? changeKeyspaces(request) : apply(request));
          }
          applied = new Applied(term, index, clock.groupMillis());
          return answers;
        });
  }

  /** Notes that the log has an entry without requests. */
  void skip(long term, long index) {
    if (index > applied.index()) {
      applied = new Applied(term, index, applied.timeMillis());
    }
  }

  /** Makes what was applied visible, atomically. */
  void commit() {
    if (applied.equals(committed)) {
      return;
    }
    Applied now = applied;
    changes.lock();
    try {
      GroupClock.at(
          clock.groupMillis(),
          () -> {
            buffer.commit(new WriteBatch().in(system).put(APPLIED, now.encode()));
            return null;
          });
    } finally {
      changes.unlock();
    }
    committed = now;
  }

  /** Copies the committed state into a new directory, durable on return. */
  void checkpoint(Path directory) {
    store.checkpoint(directory);
    clock.synced(committed.timeMillis());
  }

  /** Two views of one state: one that sees its own writes, one that does not. */
  record Views(Transaction transaction, Snapshot snapshot, long timeMillis) {}

  Views begin() {
    changes.lock();
    try {
      return new Views(store.begin(), store.snapshot(), clock.wallMillis());
    } finally {
      changes.unlock();
    }
  }

  @Override
  public void close() {
    try {
      buffer.close();
    } finally {
      store.close();
    }
  }

  /** A write without conditions was applied; of others the answer is lost. */
  private static Answer answerAgain(Request request) {
    boolean certain =
        request.conditions.isEmpty()
            && request.names.isEmpty()
            && request.writes.stream().noneMatch(write -> write.kind() == Request.INCREMENT);
    return certain || request.isAlone() ? Answer.OK : Answer.of(Answer.Status.UNKNOWN, "");
  }

  private Answer apply(Request request) {
    for (String name : request.names) {
      if (!keyspaces.containsKey(name)) {
        return Answer.of(Answer.Status.NO_KEYSPACE, name);
      }
    }
    for (Request.Condition condition : request.conditions) {
      if (!holds(condition)) {
        return Answer.of(Answer.Status.CONFLICT, "");
      }
    }
    Answer answer = Answer.OK;
    for (Request.Write write : request.writes) {
      KvView view = view(write.keyspace());
      byte[] key = write.key();
      switch (write.kind()) {
        case Request.PUT -> view.put(key, write.value());
        case Request.PUT_FOR -> view.putUntil(key, write.value(), after(write.number()));
        case Request.PUT_UNTIL -> view.putUntil(key, write.value(), write.number());
        case Request.DELETE -> view.delete(key);
        case Request.DELETE_RANGE -> view.deleteRange(key, write.value());
        case Request.INCREMENT -> answer = increment(view, key, write.number());
        default -> throw new IllegalStateException("write of kind " + write.kind());
      }
    }
    return answer;
  }

  private long after(long timeToLiveMillis) {
    long now = clock.groupMillis();
    long expiry = now + timeToLiveMillis;
    return expiry < now ? Long.MAX_VALUE - 1 : Math.max(1, expiry);
  }

  private static Answer increment(KvView view, byte[] key, long delta) {
    byte[] value = view.get(key);
    if (value != null && value.length != Long.BYTES) {
      return Answer.of(Answer.Status.NO_COUNTER, "");
    }
    long before = value == null ? 0 : ByteBuffer.wrap(value).getLong();
    long after = before + delta;
    if (((before ^ after) & (delta ^ after)) < 0) {
      return Answer.of(Answer.Status.OVERFLOW, "");
    }
    view.put(key, ByteBuffer.allocate(Long.BYTES).putLong(after).array());
    return new Answer(Answer.Status.OK, after, "");
  }

  private boolean holds(Request.Condition condition) {
    KvReader view = view(condition.keyspace());
    if (condition.kind() == Request.RANGE) {
      ContentHash.Range found =
          Conditions.range(view, condition.key(), condition.end(), condition.count());
      return found.count() == condition.count() && Arrays.equals(found.hash(), condition.hash());
    }
    byte[] key = Objects.requireNonNull(condition.key(), "only a range has an open end");
    byte[] hash =
        switch (condition.kind()) {
          case Request.VALUE -> view.read(key, ContentHash::ofValue);
          case Request.ENTRY -> Conditions.entry(view, key);
          default -> view.contains(key) ? new byte[0] : null;
        };
    return condition.kind() == Request.ABSENT
        ? hash == null
        : Arrays.equals(hash, condition.hash());
  }

  private KvView view(@Nullable String keyspace) {
    return keyspace == null ? buffer : buffer.in(Objects.requireNonNull(keyspaces.get(keyspace)));
  }

  /**
   * Keyspaces change outside the log of the store, at once and durably. All earlier entries must be
   * durable before: else a crash could lose them, and they would be applied again to a store that
   * has the keyspaces of later.
   */
  private Answer changeKeyspaces(Request request) {
    boolean creates = request.kind == Request.CREATE;
    if (request.names.stream().allMatch(name -> keyspaces.containsKey(name) == creates)) {
      return Answer.OK;
    }
    commit();
    store.sync();
    clock.synced(committed.timeMillis());
    changes.lock();
    try {
      if (creates) {
        for (Keyspace created : store.keyspaces(request.names)) {
          keyspaces.put(created.name(), created);
        }
      } else {
        for (String name : request.names) {
          Keyspace dropped = keyspaces.remove(name);
          if (dropped != null) {
            store.dropKeyspace(dropped);
          }
        }
      }
    } finally {
      changes.unlock();
    }
    return Answer.OK;
  }

  /** All content by keyspace, for tests: key and value as text of hexadecimal digits. */
  Map<String, String> digests() {
    return GroupClock.at(
        clock.groupMillis(),
        () -> {
          Map<String, String> digests = new TreeMap<>();
          digests.put("", Conditions.digest(store));
          keyspaces.forEach(
              (name, keyspace) -> digests.put(name, Conditions.digest(store.in(keyspace))));
          return digests;
        });
  }
}
