package io.kvsep.internal.txn;

import io.kvsep.EntryInfo;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.read.InternalCursor;
import io.kvsep.internal.read.RangeSize;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.internal.write.Counters;
import io.kvsep.internal.write.KeyspaceCatalog;
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
 * A store as it would be after writes that are not committed: reads of the store, with own writes
 * on the heap over them. A read that own writes answer is no read of the store.
 *
 * <p>Used by one thread at a time: a second thread is refused during a call. Its end closes its
 * cursors.
 */
public abstract class UncommittedView {
  final StoreReads reads;
  final KeyspaceCatalog keyspaces;
  final Clock clock;
  final TransactionWrites own = new TransactionWrites();
  final Set<TransactionCursor> cursors = new HashSet<>();
  private final LongSupplier now;
  private final String name;
  private final ReentrantLock use = new ReentrantLock();
  private volatile boolean over;

  /**
   * @param name what it is, for messages
   */
  UncommittedView(StoreReads reads, KeyspaceCatalog keyspaces, Clock clock, String name) {
    this.reads = reads;
    this.keyspaces = keyspaces;
    this.clock = clock;
    this.now = clock::millis;
    this.name = name;
  }

  /** Where the store is read. */
  abstract SnapshotLease hold();

  /** Notes that a stored key is read, present or not. */
  abstract void noteRead(byte[] stored);

  /** Notes that a cursor has read a range of stored keys. */
  abstract void noteRead(byte[] from, byte[] to, boolean inclusive);

  public byte @Nullable [] get(int keyspace, byte[] key) {
    return find(
        keyspace, key, hold -> reads.get(keyspace, key, hold), write -> write.value().clone());
  }

  public boolean contains(int keyspace, byte[] key) {
    return Boolean.TRUE.equals(
        find(keyspace, key, hold -> reads.contains(keyspace, key, hold), write -> true));
  }

  /** The entry without its value, null if absent; the sequence number of an own write is 0. */
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
   * @param valueBytesMax longer values are not read; the view is null then
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

  /** Finds a key among the own writes, or else in the store; null if absent. */
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
        return inStore.apply(hold());
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
        return reads.get(keyspace, key, target, hold());
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
        return reads.get(keyspace, key, target, hold());
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
      List<byte @Nullable []> found = reads.getAll(keyspace, missing, hold());
      for (int i = 0; i < places.size(); i++) {
        values.set(places.get(i), found.get(i));
      }
      return values;
    } finally {
      end(holds);
    }
  }

  /** A cursor over the store and the present own writes; closed at the end. */
  public InternalCursor cursor(ScanBounds bounds) {
    long holds = holds();
    try {
      begin(bounds.keyspace());
      SnapshotCursor store = reads.cursor(bounds.unlimited(), hold());
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

  /** Estimates what a range of the store holds, with the own puts and deletes in it. */
  public RangeSize size(ScanBounds bounds) {
    long holds = holds();
    try {
      begin(bounds.keyspace());
      return own.view().addTo(reads.size(bounds, hold()), bounds);
    } finally {
      end(holds);
    }
  }

  /**
   * Sets the key.
   *
   * @param timeToLiveMillis counts from the commit, 0 for no expiry; a negative number is the
   *     negated expiry time
   */
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

  /** Discards everything, unless it has ended. Waits for a call on another thread. */
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

  /** Whether it has ended. */
  public boolean isOver() {
    return over;
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

  /** Begins a call in a keyspace; see {@link #claim}. */
  private void begin(int keyspace) {
    claim();
    if (keyspace != Keyspaces.DEFAULT) {
      keyspaces.requirePresent(keyspace);
    }
  }

  /** Nested calls of this thread; read before each call. */
  long holds() {
    return use.getHoldCount();
  }

  /**
   * Begins a call. Called inside the {@code try} whose {@code finally} ends it, because a deferred
   * page fault may surface as this returns; a failure leaves nothing to undo.
   */
  void claim() {
    requireOpen();
    if (!use.tryLock()) {
      requireOpen();
      throw new IllegalStateException("the " + name + " is in use by another thread");
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
      // From a page read before; raised once.
      release(holds);
      throw e;
    }
  }

  private void release(long holds) {
    while (use.getHoldCount() > holds) {
      use.unlock();
    }
  }

  /** A closed store or an ended view takes precedence over concurrent use. */
  private void requireOpen() {
    if (over) {
      throw overError();
    }
    reads.currentState().get();
  }

  /** Closes a cursor, even after the end; waits for a call on another thread. */
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

  static ByteBuffer view(TransactionWrite write) {
    return ByteBuffer.wrap(write.value()).asReadOnlyBuffer();
  }

  /**
   * The current own write of the key; an expired put counts as a delete. If there is none, the key
   * is recorded as read and null returned.
   */
  private @Nullable TransactionWrite ownOrRead(int keyspace, byte[] key) {
    ReadContext.checkKeyLength(key.length);
    byte[] stored = Keyspaces.storedKey(keyspace, key);
    TransactionWrite write = own.view().find(stored);
    if (write == null) {
      noteRead(stored);
      return null;
    }
    return write.isAbsent(now) ? TransactionWrite.DELETE : write;
  }

  /** Ends it and closes its cursors. */
  void finish() {
    over = true;
    CleanupSteps closes = new CleanupSteps();
    for (TransactionCursor cursor : cursors) {
      closes.run(cursor::release);
    }
    cursors.clear();
    closes.throwFirst();
  }

  private StoreClosedException overError() {
    return new StoreClosedException("the " + name + " is over");
  }
}
