package io.kvsep.cluster;

import io.kvsep.Change;
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
 * The store of a replica. Entries are applied to a {@link WriteBuffer}, which the next ones read,
 * and to a batch, which has every write in order and behind those of each entry the record of that
 * entry. One commit takes the batch of many entries. So the log of the store tells the changes of
 * each entry, for {@link ReplicatedFeed}, however the entries were grouped. The result depends on
 * the entries alone, not on how they are grouped, when they are applied or how often after a crash:
 * conditions are evaluated at the time of the entry, and the record says which entries the store
 * has.
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
  private final WriteBatch batch = new WriteBatch();
  private final EntryPlaces places = new EntryPlaces();

  /** Held while the store changes, so that two views of one state can be opened. */
  private final ReentrantLock changes = new ReentrantLock();

  /** Of the committed writes. */
  private volatile Applied committed;

  /** With those in the buffer. */
  private Applied applied;

  /** The last record in the batch. */
  private Applied recorded;

  /** The last entry that changed something and is committed, or is about to be. */
  private volatile long changing;

  /** The last committed entry that changed something. */
  private volatile long changed;

  /** The changes of all entries up to this one are durable. */
  private volatile long durable;

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
    recorded = committed;
    // After a crash of the process alone, the last commits may be in the page cache only.
    store.sync();
    changing = committed.index();
    changed = committed.index();
    durable = committed.index();
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

  /** The index of the last entry that readers see. Ask for it after the reads that it is for. */
  long visibleIndex() {
    byte[] record = store.in(system).get(APPLIED);
    return record == null ? Applied.NOTHING.index() : recordedIndex(record);
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

  /** Where entries are in the log of the store. */
  EntryPlaces places() {
    return places;
  }

  /**
   * Whether a change of the store is the record of an entry, which is not a change of the group.
   */
  static boolean isRecord(Change change) {
    return SYSTEM.equals(change.keyspace());
  }

  /** The last entry that changed something; after a start, the last one that was committed. */
  long lastChange() {
    return changing;
  }

  /**
   * Makes the changes of all committed entries durable.
   *
   * @return whether there were any that were not
   */
  boolean syncChanges() {
    long now = changed;
    if (durable >= now) {
      return false;
    }
    store.sync();
    durable = now;
    return true;
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
          boolean changes = false;
          for (Request request : entry.requests()) {
            answers.add(request.isAlone() ? changeKeyspaces(request) : apply(request));
            changes |= request.isAlone() || !request.writes.isEmpty();
          }
          applied = new Applied(term, index, clock.groupMillis());
          if (changes) {
            record();
          }
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
    if (batch.count() > 0) {
      changing = recorded.index();
    }
    if (!recorded.equals(applied)) {
      record();
    }
    long sequence;
    changes.lock();
    try {
      sequence = GroupClock.<Long>at(clock.groupMillis(), () -> store.writeVersioned(batch));
      buffer.discard();
    } finally {
      changes.unlock();
    }
    batch.clear();
    committed = applied;
    places.add(applied.index(), sequence);
    changed = changing;
  }

  /** Ends the changes of an entry. */
  private void record() {
    batch.in(system).put(APPLIED, applied.encode());
    recorded = applied;
  }

  /** Copies the committed state into a new directory, durable on return. */
  void checkpoint(Path directory) {
    store.checkpoint(directory);
    clock.synced(committed.timeMillis());
  }

  /** A state that does not change, and the keyspaces that had the names then. */
  record State(GroupStore origin, Snapshot snapshot, Map<String, Keyspace> keyspaces) {
    /** Null is the store's own keyspace. */
    KvReader reader(@Nullable String name) {
      return name == null ? snapshot : snapshot.in(required(name));
    }

    Keyspace required(String name) {
      Keyspace then = keyspaces.get(name);
      return then == null ? origin.required(name) : then;
    }

    /** The number of its last change, as {@link ReplicatedFeed} has it. */
    long sequence() {
      byte[] record = snapshot.in(origin.system).get(APPLIED);
      return record == null ? 0 : ReplicatedFeed.after(recordedIndex(record));
    }
  }

  State snapshot() {
    changes.lock();
    try {
      return new State(this, store.snapshot(), Map.copyOf(keyspaces));
    } finally {
      changes.unlock();
    }
  }

  /** Two views of one state: one that sees its own writes, one that does not. */
  record Views(Transaction transaction, State state, long timeMillis) {}

  Views begin() {
    changes.lock();
    try {
      return new Views(store.begin(), snapshot(), clock.wallMillis());
    } finally {
      changes.unlock();
    }
  }

  /** The index of the entry that a record names. */
  static long recordedIndex(byte[] record) {
    try {
      return Applied.decode(record).index();
    } catch (MalformedEntryException e) {
      throw new IllegalStateException("a record of a later version", e);
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
      String keyspace = write.keyspace();
      byte[] key = write.key();
      byte[] value = write.value();
      switch (write.kind()) {
        case Request.PUT -> put(keyspace, key, value);
        case Request.PUT_FOR -> putUntil(keyspace, key, value, after(write.number()));
        case Request.PUT_UNTIL -> putUntil(keyspace, key, value, write.number());
        case Request.DELETE -> {
          view(keyspace).delete(key);
          batch(keyspace).delete(key);
        }
        case Request.DELETE_RANGE -> {
          view(keyspace).deleteRange(key, value);
          batch(keyspace).deleteRange(key, value);
        }
        case Request.INCREMENT -> answer = increment(keyspace, key, write.number());
        default -> throw new IllegalStateException("write of kind " + write.kind());
      }
    }
    return answer;
  }

  private void put(@Nullable String keyspace, byte[] key, byte[] value) {
    view(keyspace).put(key, value);
    batch(keyspace).put(key, value);
  }

  private void putUntil(@Nullable String keyspace, byte[] key, byte[] value, long millis) {
    view(keyspace).putUntil(key, value, millis);
    batch(keyspace).putUntil(key, value, millis);
  }

  private long after(long timeToLiveMillis) {
    long now = clock.groupMillis();
    long expiry = now + timeToLiveMillis;
    return expiry < now ? Long.MAX_VALUE - 1 : Math.max(1, expiry);
  }

  private Answer increment(@Nullable String keyspace, byte[] key, long delta) {
    byte[] value = view(keyspace).get(key);
    if (value != null && value.length != Long.BYTES) {
      return Answer.of(Answer.Status.NO_COUNTER, "");
    }
    long before = value == null ? 0 : ByteBuffer.wrap(value).getLong();
    long after = before + delta;
    if (((before ^ after) & (delta ^ after)) < 0) {
      return Answer.of(Answer.Status.OVERFLOW, "");
    }
    put(keyspace, key, ByteBuffer.allocate(Long.BYTES).putLong(after).array());
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
    return keyspace == null ? buffer : buffer.in(required(keyspace));
  }

  private WriteBatch batch(@Nullable String keyspace) {
    return keyspace == null ? batch.inDefault() : batch.in(required(keyspace));
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
