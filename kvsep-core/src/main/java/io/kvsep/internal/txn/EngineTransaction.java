package io.kvsep.internal.txn;

import io.kvsep.EntryInfo;
import io.kvsep.error.ConflictException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.read.InternalCursor;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.internal.write.Counters;
import io.kvsep.internal.write.KeyspaceCatalog;
import io.kvsep.internal.write.StoreWrites;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongSupplier;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * An optimistic transaction: reads at a snapshot, keeps writes on the heap and records reads. The
 * commit writes one batch if {@link ConflictCheck}, while no other write can commit, finds that
 * nothing read has changed. So a transaction that wrote is serialized at its commit, a read-only
 * one at its start.
 *
 * <p>A read answered by own writes is not recorded. A cursor reads the whole range from its start
 * to its position.
 *
 * <p>For one thread at a time: during a call other threads are refused. Ending the transaction
 * closes its cursors and releases the snapshot.
 */
public final class EngineTransaction {
  private static final long UNCOMMITTED = -1;

  private final StoreReads reads;
  private final StoreWrites writes;
  private final KeyspaceCatalog keyspaces;
  private final Clock clock;
  private final LongSupplier now;
  private final MemtableHighWater.MarkedSnapshot start;
  private final TransactionWrites own = new TransactionWrites();
  private final ReadSet readSet = new ReadSet();
  private final Set<TransactionCursor> cursors = new HashSet<>();
  private final ReentrantLock use = new ReentrantLock();
  private volatile boolean over;
  private volatile boolean conflicted;

  /** Sequence number of the last write, {@link #UNCOMMITTED} before the commit. */
  private volatile long version = UNCOMMITTED;

  public EngineTransaction(
      StoreReads reads, StoreWrites writes, KeyspaceCatalog keyspaces, Clock clock) {
    this.reads = reads;
    this.writes = writes;
    this.keyspaces = keyspaces;
    this.clock = clock;
    this.now = clock::millis;
    this.start = reads.begin();
  }

  /** Sequence number of the snapshot. */
  public long sequence() {
    return start.hold().sequence();
  }

  public byte @Nullable [] get(int keyspace, byte[] key) {
    return find(
        keyspace, key, hold -> reads.get(keyspace, key, hold), write -> write.value().clone());
  }

  public boolean contains(int keyspace, byte[] key) {
    return Boolean.TRUE.equals(
        find(keyspace, key, hold -> reads.contains(keyspace, key, hold), write -> true));
  }

  /** Null if absent; the sequence number of an own write is 0. */
  public @Nullable EntryInfo info(int keyspace, byte[] key) {
    return find(keyspace, key, hold -> reads.info(keyspace, key, hold), this::info);
  }

  private EntryInfo info(TransactionWrite write) {
    long expiry =
        write.timeToLiveMillis() == 0 ? Payload.NEVER : write.expiresAtMillis(clock.millis());
    return new EntryInfo(0, write.value().length, Payload.expiry(expiry));
  }

  public <R extends @Nullable Object> @Nullable R read(
      int keyspace, byte[] key, Function<ByteBuffer, R> reader) {
    return find(
        keyspace,
        key,
        hold -> reads.read(keyspace, key, hold, reader),
        write -> reader.apply(view(write)));
  }

  /**
   * Passes the entry and a view of its value to {@code reader}.
   *
   * @param valueBytesMax the view of a longer value is null
   */
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      int keyspace,
      byte[] key,
      int valueBytesMax,
      BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    return find(
        keyspace,
        key,
        hold -> reads.readWithInfo(keyspace, key, hold, valueBytesMax, reader),
        write -> {
          EntryInfo found = info(write);
          return reader.apply(found, found.valueLength() <= valueBytesMax ? view(write) : null);
        });
  }

  /**
   * Finds a key among the transaction's own writes, or else in the store.
   *
   * @return null if the key is absent
   */
  private <T extends @Nullable Object> @Nullable T find(
      int keyspace,
      byte[] key,
      Function<SnapshotLease, @Nullable T> inStore,
      Function<TransactionWrite, T> inOwn) {
    long holds = holds();
    try {
      begin(keyspace);
      TransactionWrite write = ownOrRead(keyspace, key);
      if (write == null) {
        return inStore.apply(start.hold());
      }
      return write.isDelete() ? null : inOwn.apply(write);
    } finally {
      end(holds);
    }
  }

  /** Appends the value to {@code target}; returns its length, -1 if absent. */
  public long get(int keyspace, BytesStore<?, ?> key, Bytes<?> target) {
    long holds = holds();
    try {
      begin(keyspace);
      ReadContext.checkKeyLength(key.readRemaining());
      TransactionWrite write = ownOrRead(keyspace, key.toByteArray());
      if (write == null) {
        return reads.get(keyspace, key, target, start.hold());
      }
      if (write.isDelete()) {
        return -1;
      }
      target.write(write.value());
      return write.value().length;
    } finally {
      end(holds);
    }
  }

  /** Puts the value into {@code target} if it fits; returns its length, -1 if absent. */
  public int get(int keyspace, byte[] key, ByteBuffer target) {
    long holds = holds();
    try {
      begin(keyspace);
      TransactionWrite write = ownOrRead(keyspace, key);
      if (write == null) {
        return reads.get(keyspace, key, target, start.hold());
      }
      if (write.isDelete()) {
        return -1;
      }
      int length = write.value().length;
      if (length <= target.remaining()) {
        target.put(write.value());
      }
      return length;
    } finally {
      end(holds);
    }
  }

  public List<byte @Nullable []> getAll(int keyspace, List<byte[]> keys) {
    long holds = holds();
    try {
      begin(keyspace);
      List<byte @Nullable []> values = new ArrayList<>(keys.size());
      List<byte[]> missing = new ArrayList<>();
      List<Integer> places = new ArrayList<>();
      for (byte[] key : keys) {
        TransactionWrite write = ownOrRead(keyspace, key);
        if (write == null) {
          places.add(values.size());
          missing.add(key);
        }
        values.add(write == null || write.isDelete() ? null : write.value().clone());
      }
      List<byte @Nullable []> found = reads.getAll(keyspace, missing, start.hold());
      for (int i = 0; i < places.size(); i++) {
        values.set(places.get(i), found.get(i));
      }
      return values;
    } finally {
      end(holds);
    }
  }

  /** A cursor over the store and the present own writes; closed when the transaction ends. */
  public InternalCursor cursor(ScanBounds bounds) {
    long holds = holds();
    try {
      begin(bounds.keyspace());
      SnapshotCursor store = reads.cursor(bounds.unlimited(), start.hold());
      boolean known = false;
      try {
        TransactionCursor cursor = new TransactionCursor(this, store, own.view(), bounds, clock);
        known = cursors.add(cursor);
        return cursor;
      } finally {
        if (!known) {
          store.close();
        }
      }
    } finally {
      end(holds);
    }
  }

  /** The time to live is as in {@link TransactionWrite#timeToLiveMillis}. */
  public void put(int keyspace, byte[] key, byte[] value, long timeToLiveMillis) {
    long holds = holds();
    try {
      begin(keyspace);
      ReadContext.checkKeyLength(key.length);
      BatchWrites.checkValueLength(value.length);
      own.put(keyspace, key, value.clone(), timeToLiveMillis);
    } finally {
      end(holds);
    }
  }

  public void delete(int keyspace, byte[] key) {
    long holds = holds();
    try {
      begin(keyspace);
      ReadContext.checkKeyLength(key.length);
      own.delete(keyspace, key);
    } finally {
      end(holds);
    }
  }

  public void deleteRange(int keyspace, byte[] from, byte[] to) {
    long holds = holds();
    try {
      begin(keyspace);
      BatchWrites.checkBoundLength(from);
      BatchWrites.checkBoundLength(to);
      own.deleteRange(keyspace, from, to);
    } finally {
      end(holds);
    }
  }

  public long increment(int keyspace, byte[] key, long delta) {
    long holds = holds();
    try {
      begin(keyspace);
      byte[] value = readWithInfo(keyspace, key, Counters.BYTES, Counters::bytes);
      long sum = Counters.add(Counters.count(value), delta);
      own.put(keyspace, key, Counters.value(sum), 0);
      return sum;
    } finally {
      end(holds);
    }
  }

  /** Writes everything atomically; ends the transaction in any case. */
  public void commit() {
    long holds = holds();
    try {
      claim();
      try {
        write();
      } finally {
        finish();
      }
    } finally {
      end(holds);
    }
  }

  private void write() {
    if (own.isEmpty()) {
      version = 0;
      return;
    }
    own.keyspaces().forEach(keyspaces::requirePresent);
    cursors.forEach(TransactionCursor::tellRead);
    ConflictCheck check =
        readSet.isEmpty()
            ? null
            : new ConflictCheck(reads, readSet.toRanges(), sequence(), start.mark());
    long last = writes.write(own.records(clock.millis()), own.keyspaces(), check);
    if (last == StoreWrites.CONFLICT) {
      conflicted = true;
      throw new ConflictException("something that the transaction read was changed since");
    }
    version = last;
  }

  /** Throws if the transaction has ended or the store is closed. */
  public void rollback() {
    long holds = holds();
    try {
      claim();
      finish();
    } finally {
      end(holds);
    }
  }

  /** Rolls back unless the transaction has ended. Waits for a call on another thread. */
  public void close() {
    long holds = holds();
    try {
      use.lock();
      if (!over) {
        finish();
      }
    } finally {
      end(holds);
    }
  }

  /** Whether a commit, successful or not, or a rollback has ended it. */
  public boolean isOver() {
    return over;
  }

  public boolean isConflicted() {
    return conflicted;
  }

  /** Sequence number of the last write, 0 if there was none; throws before the commit. */
  public long version() {
    if (version == UNCOMMITTED) {
      throw new IllegalStateException("the transaction was not committed");
    }
    return version;
  }

  /** Throws if a call with this keyspace would. */
  public void check(int keyspace) {
    long holds = holds();
    try {
      begin(keyspace);
    } finally {
      end(holds);
    }
  }

  private void begin(int keyspace) {
    claim();
    if (keyspace != Keyspaces.DEFAULT) {
      keyspaces.requirePresent(keyspace);
    }
  }

  /** Nesting depth of this thread's calls; read before a call for {@link #end}. */
  long holds() {
    return use.getHoldCount();
  }

  /**
   * Begins a call. Call it inside the {@code try} whose {@code finally} ends the call: a deferred
   * page fault may surface as this returns.
   */
  void claim() {
    requireOpen();
    if (!use.tryLock()) {
      requireOpen();
      throw new IllegalStateException("the transaction is in use by another thread");
    }
    if (over) {
      throw overError();
    }
  }

  /** Ends a call, if it was begun. */
  void end(long holds) {
    try {
      release(holds);
    } catch (InternalError e) {
      // A deferred page fault; thrown once.
      release(holds);
      throw e;
    }
  }

  private void release(long holds) {
    while (use.getHoldCount() > holds) {
      use.unlock();
    }
  }

  private void requireOpen() {
    if (over) {
      throw overError();
    }
    reads.live().get();
  }

  /** Does nothing after the transaction's end. Waits for a call on another thread. */
  void close(TransactionCursor cursor) {
    long holds = holds();
    try {
      use.lock();
      if (cursors.remove(cursor)) {
        try {
          cursor.tellRead();
        } finally {
          cursor.release();
        }
      }
    } finally {
      end(holds);
    }
  }

  void read(byte[] from, byte[] to, boolean inclusive) {
    boolean noted = false;
    try {
      readSet.add(from, inclusive ? ReadSet.successor(to) : to);
      noted = true;
    } finally {
      if (!noted) {
        readSet.lose();
      }
    }
  }

  static ByteBuffer view(TransactionWrite write) {
    return ByteBuffer.wrap(write.value()).asReadOnlyBuffer();
  }

  /**
   * The own write of the key, for an expired put a delete. If there is none, records the read and
   * returns null.
   */
  private @Nullable TransactionWrite ownOrRead(int keyspace, byte[] key) {
    ReadContext.checkKeyLength(key.length);
    byte[] stored = Keyspaces.storedKey(keyspace, key);
    TransactionWrite write = own.view().find(stored);
    if (write == null) {
      readSet.add(stored);
      return null;
    }
    return write.isAbsent(now) ? TransactionWrite.DELETE : write;
  }

  private void finish() {
    over = true;
    try {
      CleanupSteps closes = new CleanupSteps();
      for (TransactionCursor cursor : cursors) {
        closes.run(cursor::release);
      }
      cursors.clear();
      closes.throwFirst();
    } finally {
      reads.releaseSnapshot(start.hold());
    }
  }

  private static StoreClosedException overError() {
    return new StoreClosedException("the transaction is over");
  }
}
