package io.kvsep.internal.read;

import io.kvsep.EntryInfo;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.Ticker;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.LevelIterator;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.internal.view.MemtableHighWater;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.view.SnapshotLease;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * The read half of an engine. Thread safe; takes no lock once tables and records are mapped. Reads
 * at {@link #LATEST} see the newest commit, others the commit that a snapshot lease holds. A read
 * first takes a read state and then checks the lease: if it is still held, every job whose result
 * is in the read state knew of it and kept what it needs.
 */
public final class StoreReads {
  /** Reads the newest commit; never released. */
  public static final SnapshotLease LATEST = new SnapshotLease(-1, 0);

  /** Instead of a sequence number: all entries rather than changes. */
  public static final long EVERYTHING = -1;

  private final Epochs<ReadContext> epochs;
  private final CurrentReadState currentState;
  private final SnapshotRegistry snapshots;
  private final ValueReader values;
  private final DeviceReads device;
  private final PointReader points;
  private final Clock clock;
  private final Ticker ticker;
  private final boolean verifiesValues;
  private final MemoryLedger ledger;
  private final KnownGaps gaps = new KnownGaps();

  private final Set<SnapshotCursor> cursors = ConcurrentHashMap.newKeySet();

  /** Calls that retain a read state and are not always inside the epochs. */
  private final AtomicInteger longCalls = new AtomicInteger();

  public StoreReads(
      Epochs<ReadContext> epochs,
      CurrentReadState currentState,
      SnapshotRegistry snapshots,
      ValueReader values,
      EngineConfig config,
      MemoryLedger ledger) {
    this.epochs = epochs;
    this.currentState = currentState;
    this.snapshots = snapshots;
    this.values = values;
    this.device = new DeviceReads(config.scheduler(), epochs, config.ticker());
    this.points = new PointReader(values, config.clock());
    this.clock = config.clock();
    this.ticker = config.ticker();
    this.verifiesValues = config.values().areVerified();
    this.ledger = ledger;
  }

  public byte @Nullable [] get(int keyspace, byte[] key, SnapshotLease hold) {
    return find(
        keyspace,
        key,
        hold,
        (reads, slot) -> reads.points.value(slot.context(), ValueReader.Use.ARRAY).toArray());
  }

  public boolean contains(int keyspace, byte[] key, SnapshotLease hold) {
    return find(keyspace, key, hold, (reads, slot) -> Boolean.TRUE) != null;
  }

  /** The key's newest entry without its value, null if absent. */
  public @Nullable EntryInfo info(int keyspace, byte[] key, SnapshotLease hold) {
    return find(keyspace, key, hold, (reads, slot) -> PointReader.info(slot.context()));
  }

  /**
   * Finds a key.
   *
   * @param result called with the entry in the slot's context; without captures it allocates
   *     nothing
   * @return its result, null if the key is absent
   */
  private <T extends @Nullable Object> @Nullable T find(
      int keyspace,
      byte[] key,
      SnapshotLease hold,
      BiFunction<StoreReads, EpochSlot<ReadContext>, T> result) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadContext context = slot.context();
      ReadState readState = currentState.get();
      context.setKey(keyspace, key);
      return find(readState, context, hold) ? result.apply(this, slot) : null;
    } finally {
      leave(slot);
    }
  }

  /**
   * Passes a view of the value to {@code reader}, outside the epochs: the view needs none, and user
   * code delays no reclamation.
   */
  public <R extends @Nullable Object> @Nullable R read(
      int keyspace, byte[] key, SnapshotLease hold, Function<ByteBuffer, R> reader) {
    return find(
        keyspace,
        key,
        hold,
        (reads, slot) -> {
          ByteBuffer value = reads.view(slot.context());
          reads.rest(slot);
          return shown(value, reader);
        });
  }

  private ByteBuffer view(ReadContext context) {
    return points.value(context, ValueReader.Use.VIEW).toView();
  }

  private static <R extends @Nullable Object> R shown(
      ByteBuffer view, Function<ByteBuffer, R> reader) {
    if (!view.isDirect()) {
      return reader.apply(view);
    }
    AtomicInteger use = DeferredPageFaults.begin();
    try {
      return reader.apply(view);
    } finally {
      DeferredPageFaults.end(use);
    }
  }

  /**
   * As {@link #read}, with the entry.
   *
   * @param valueBytesMax longer values are not read; the view is null then
   */
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      int keyspace,
      byte[] key,
      SnapshotLease hold,
      int valueBytesMax,
      BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    return find(
        keyspace,
        key,
        hold,
        (reads, slot) -> {
          EntryInfo found = PointReader.info(slot.context());
          boolean shows = found.valueLength() <= valueBytesMax;
          ByteBuffer value = shows ? reads.view(slot.context()) : null;
          reads.rest(slot);
          return value == null
              ? reader.apply(found, null)
              : shown(value, shown -> reader.apply(found, shown));
        });
  }

  /** Appends the value to {@code target}; returns its length, -1 if absent. */
  public long get(int keyspace, BytesStore<?, ?> key, Bytes<?> target, SnapshotLease hold) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadContext context = slot.context();
      ReadState readState = currentState.get();
      context.setKey(keyspace, key);
      if (!find(readState, context, hold)) {
        return -1;
      }
      StoredValue value = points.value(context, ValueReader.Use.COPY);
      Region region = value.region();
      if (region != null) {
        UserBytes.append(region, value.offset(), value.length(), target);
      } else {
        target.write(value.toArray());
      }
      return value.length();
    } finally {
      leave(slot);
    }
  }

  /** Puts the value into {@code target} if it fits; returns its length, -1 if absent. */
  public int get(int keyspace, byte[] key, ByteBuffer target, SnapshotLease hold) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadContext context = slot.context();
      ReadState readState = currentState.get();
      context.setKey(keyspace, key);
      if (!find(readState, context, hold)) {
        return -1;
      }
      int length = PointReader.valueLength(context);
      if (length <= target.remaining()) {
        points.value(context, ValueReader.Use.COPY).copyTo(target, context.scratch);
      }
      return length;
    } finally {
      leave(slot);
    }
  }

  /** The values of all keys at one sequence number, null where absent. */
  public List<byte @Nullable []> getAll(int keyspace, List<byte[]> keys, SnapshotLease hold) {
    // Outside the epochs: the list is user code.
    byte[][] wanted = keys.toArray(new byte[0][]);
    return wanted.length <= MultiGet.GROUP_KEYS_MAX
        ? getFew(keyspace, wanted, hold)
        : getMany(keyspace, wanted, hold);
  }

  private List<byte @Nullable []> getFew(int keyspace, byte[][] keys, SnapshotLease hold) {
    return inside(
        context -> {
          ReadState readState;
          long moment;
          do {
            readState = currentState.get();
            moment = readable(hold);
          } while (!currentState.isCurrent(readState));
          MultiGet get = new MultiGet(points, values, device, readState, moment, keyspace, keys);
          while (!get.isComplete()) {
            get.nextGroup(context);
          }
          return get.results();
        });
  }

  /**
   * As {@link #getFew}, for many keys. Retains its read state and enters the epochs per group: a
   * thread inside delays the release of memtables and files. Not for few keys: the last release of
   * a read state frees what it held, possibly files.
   */
  private List<byte @Nullable []> getMany(int keyspace, byte[][] keys, SnapshotLease hold) {
    // An earlier page fault must not surface before the decrement.
    Region.requirePagesRead();
    // Before taking a read state, so that close waits or fails this call.
    longCalls.incrementAndGet();
    try (PinnedReadState held = held(hold)) {
      MultiGet get =
          new MultiGet(points, values, device, held.readState(), held.sequence(), keyspace, keys);
      while (!get.isComplete()) {
        inside(
            context -> {
              get.nextGroup(context);
              return get;
            });
      }
      return get.results();
    } finally {
      longCalls.decrementAndGet();
    }
  }

  /** As {@link Epochs#inside}, for work that needs scratch memory. */
  private <T> T inside(Function<ReadContext, T> work) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      return work.apply(slot.context());
    } finally {
      leave(slot);
    }
  }

  private void leave(EpochSlot<ReadContext> slot) {
    try {
      if (epochs.isIn(slot) && !slot.isResting()) {
        trim(slot.context());
      }
    } finally {
      epochs.exit(slot);
    }
  }

  /** Exits the epochs but keeps the slot, so that close waits. */
  private void rest(EpochSlot<ReadContext> slot) {
    trim(slot.context());
    epochs.rest(slot);
  }

  private void trim(ReadContext context) {
    if (!context.trim()) {
      epochs.visitNext(ReadContext::giveBack);
    }
  }

  /**
   * Looks up the context's key. A read state that is current after the sequence number was read
   * holds everything up to it, even a batch in several memtables.
   */
  private boolean find(ReadState first, ReadContext context, SnapshotLease hold) {
    ReadState readState = first;
    long moment = readable(hold);
    while (!currentState.isCurrent(readState)) {
      readState = currentState.get();
      moment = readable(hold);
    }
    return points.find(readState, context, moment);
  }

  /** Estimates what a range holds in the newest state; the lease only has to be held. */
  public RangeSize size(ScanBounds bounds, SnapshotLease hold) {
    EpochSlot<ReadContext> slot = epochs.vacant();
    try {
      slot = epochs.enter(slot);
      ReadState readState = currentState.get();
      readable(hold);
      return RangeEstimate.of(readState, snapshots.visibleSequence(), slot.context(), bounds);
    } finally {
      leave(slot);
    }
  }

  public SnapshotCursor cursor(ScanBounds bounds, SnapshotLease hold) {
    // Inside the epochs until the cursor is registered, so that close waits or finds it.
    return epochs.inside(
        slot -> registered(makeCursor(held(hold), bounds, EVERYTHING, verifiesValues)));
  }

  KnownGaps gaps() {
    return gaps;
  }

  public long visibleSequence() {
    return snapshots.visibleSequence();
  }

  /** Pins the current commit for any number of scans; the caller closes it. */
  public PinnedReadState moment() {
    return epochs.inside(slot -> held(LATEST));
  }

  /**
   * Retains a read state, then reads the sequence number to read at. A state that is still current
   * holds every entry up to that number.
   */
  private PinnedReadState held(SnapshotLease hold) {
    while (true) {
      ReadState readState = currentState.retain();
      boolean kept = false;
      try {
        MemtableHighWater mark = MemtableHighWater.of(readState);
        long newest = MemtableHighWater.newestSequence(readState);
        long moment = readable(hold);
        if (currentState.isCurrent(readState)) {
          PinnedReadState held =
              new PinnedReadState(this, readState, moment, newest <= moment ? mark : null);
          kept = true;
          return held;
        }
      } finally {
        if (!kept) {
          readState.release();
        }
      }
    }
  }

  /**
   * A cursor for copies of the store: values are always verified.
   *
   * @param since shows changes after this number, including deletes, or {@link #EVERYTHING}
   */
  SnapshotCursor cursor(PinnedReadState held, ScanBounds bounds, long since) {
    return epochs.inside(
        slot -> {
          currentState.get();
          if (!held.readState().tryRetain()) {
            throw new IllegalStateException("the moment is over");
          }
          return registered(makeCursor(held, bounds, since, /* verifies= */ true));
        });
  }

  private SnapshotCursor registered(SnapshotCursor cursor) {
    try {
      cursors.add(cursor);
      if (!currentState.isOpen()) {
        throw new StoreClosedException("the store is closed");
      }
      return cursor;
    } catch (RuntimeException | Error e) {
      cursor.close();
      throw e;
    }
  }

  /** Takes over the reference to the read state, even on failure. */
  private SnapshotCursor makeCursor(
      PinnedReadState held, ScanBounds bounds, long since, boolean verifies) {
    ReadState readState = held.readState();
    VisibleIterator iterator = null;
    try {
      ScanBounds.Stored stored = bounds.stored();
      ReadAhead ahead =
          bounds.keysOnly() || bounds.prefetch() == 0
              ? null
              : new ReadAhead(
                  device, values, () -> iterator(held, stored, since), bounds.prefetch());
      iterator = iterator(held, stored, since);
      if (since != EVERYTHING) {
        iterator.showChangesSince(since);
      }
      return new SnapshotCursor(this, readState, iterator, verifies, ahead, bounds, ticker.nanos());
    } catch (RuntimeException | Error e) {
      // Includes unreadable mapped pages and a lack of memory.
      try {
        if (iterator != null) {
          iterator.close();
        }
      } finally {
        readState.release();
      }
      throw e;
    }
  }

  private VisibleIterator iterator(PinnedReadState held, ScanBounds.Stored bounds, long since) {
    ReadState readState = held.readState();
    long moment = held.sequence();
    List<TableFile> levelZero = bounds.within(readState.version.level(0));
    RangeCoverage coverage = RangeCoverage.of(readState, levelZero, moment);
    MergingIterator merged;
    try (IteratorSources sources = sources(readState, levelZero, bounds)) {
      merged = sources.merge(ledger);
    }
    try {
      GapFinder finder =
          since == EVERYTHING ? new GapFinder(gaps, readState, moment, held.mark(), clock) : null;
      return new VisibleIterator(merged, moment, coverage, finder, bounds, clock, ledger);
    } catch (RuntimeException | Error e) {
      merged.close();
      throw e;
    }
  }

  public SnapshotLease acquireSnapshot() {
    currentState.get();
    return snapshots.acquire();
  }

  /** As {@link #acquireSnapshot}, with the mark after which memtables have newer entries. */
  public MemtableHighWater.MarkedSnapshot begin() {
    return MemtableHighWater.MarkedSnapshot.take(currentState, snapshots);
  }

  /** The lease's sequence number. Throws if it was released or the store is closed. */
  public long heldSequence(SnapshotLease hold) {
    currentState.get();
    return hold.heldSequence();
  }

  public void releaseSnapshot(SnapshotLease hold) {
    snapshots.release(hold);
  }

  public int openCursors() {
    return cursors.size();
  }

  public long oldestCursorNanos() {
    long now = ticker.nanos();
    long oldest = 0;
    for (SnapshotCursor cursor : cursors) {
      oldest = Math.max(oldest, now - cursor.openedNanos);
    }
    return oldest;
  }

  /**
   * Closes all cursors, and waits for concurrent closes and calls that retain a read state; no new
   * ones can start.
   */
  public void closeCursors() {
    CleanupSteps closes = new CleanupSteps();
    for (SnapshotCursor cursor : cursors) {
      closes.run(cursor::close);
    }
    while (!cursors.isEmpty() || longCalls.get() > 0) {
      Uninterruptibles.pause(100_000);
    }
    closes.throwFirst();
  }

  public Epochs<ReadContext> epochs() {
    return epochs;
  }

  public CurrentReadState currentState() {
    return currentState;
  }

  public MemoryLedger ledger() {
    return ledger;
  }

  ValueReader values() {
    return values;
  }

  void forget(SnapshotCursor cursor) {
    cursors.remove(cursor);
  }

  /** Call after taking the read state, even if the lease was checked before. */
  private long readable(SnapshotLease hold) {
    return hold == LATEST ? snapshots.visibleSequence() : hold.heldSequence();
  }

  /**
   * One source per memtable, level 0 table and non-empty level, as {@link RangeCoverage} numbers
   * them.
   */
  private IteratorSources sources(
      ReadState readState, List<TableFile> levelZero, ScanBounds.Stored bounds) {
    IteratorSources sources = new IteratorSources();
    boolean complete = false;
    try {
      for (Memtable memtable : readState.searched) {
        sources.add(memtable.iterator());
      }
      for (TableFile table : levelZero) {
        sources.add(table.iterator(ledger));
      }
      for (int level = 1; level < Version.LEVELS; level++) {
        TableFile[] tables = readState.version.tables(level);
        if (tables.length > 0) {
          sources.add(LevelIterator.within(tables, bounds.lower(), bounds.upper(), ledger));
        }
      }
      complete = true;
      return sources;
    } finally {
      if (!complete) {
        sources.close();
      }
    }
  }
}
