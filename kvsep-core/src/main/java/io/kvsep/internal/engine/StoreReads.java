package io.kvsep.internal.engine;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.iterator.IteratorSources;
import io.kvsep.internal.iterator.MergingIterator;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.version.LevelIterator;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * The reading half of an engine. Thread safe; takes no lock. Reads at {@link #LATEST} see the
 * newest commit; reads at another sequence number need that number to be held by a snapshot.
 */
public final class StoreReads {
  /** Reads what is committed now. */
  public static final long LATEST = -1;

  private final Epochs<ReadContext> epochs;
  private final LiveView live;
  private final SnapshotRegistry snapshots;
  private final ValueReader values;
  private final PointReader points;
  private final Clock clock;
  private final MemoryLedger ledger;
  private final Set<EngineCursor> cursors = ConcurrentHashMap.newKeySet();

  StoreReads(
      Epochs<ReadContext> epochs,
      LiveView live,
      SnapshotRegistry snapshots,
      ValueReader values,
      Clock clock,
      MemoryLedger ledger) {
    this.epochs = epochs;
    this.live = live;
    this.snapshots = snapshots;
    this.values = values;
    this.points = new PointReader(values, clock);
    this.clock = clock;
    this.ledger = ledger;
  }

  /** A copy of the value, null when the key is absent. */
  public byte @Nullable [] get(int keyspace, byte[] key, long sequence) {
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      ReadContext context = slot.context();
      View view = live.get();
      context.setKey(keyspace, key);
      return points.find(view, context, readable(sequence))
          ? points.value(context).toArray()
          : null;
    } finally {
      epochs.exit(slot);
    }
  }

  public boolean contains(int keyspace, byte[] key, long sequence) {
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      View view = live.get();
      slot.context().setKey(keyspace, key);
      return points.find(view, slot.context(), readable(sequence));
    } finally {
      epochs.exit(slot);
    }
  }

  public <R extends @Nullable Object> @Nullable R read(
      int keyspace, byte[] key, long sequence, Function<ByteBuffer, R> reader) {
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      ReadContext context = slot.context();
      View view = live.get();
      context.setKey(keyspace, key);
      return points.find(view, context, readable(sequence))
          ? reader.apply(points.value(context).toView())
          : null;
    } finally {
      epochs.exit(slot);
    }
  }

  /** Appends the value to {@code target}; its length, -1 when the key is absent. */
  public long get(int keyspace, BytesStore<?, ?> key, Bytes<?> target, long sequence) {
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      ReadContext context = slot.context();
      View view = live.get();
      context.setKey(keyspace, key);
      if (!points.find(view, context, readable(sequence))) {
        return -1;
      }
      StoredValue value = points.value(context);
      Region region = value.region();
      if (region != null) {
        UserBytes.append(region, value.offset(), value.length(), target);
      } else {
        target.write(value.toArray());
      }
      return value.length();
    } finally {
      epochs.exit(slot);
    }
  }

  /** The values of all keys as of one moment, null where absent. */
  public List<byte @Nullable []> getAll(int keyspace, List<byte[]> keys, long sequence) {
    EpochSlot<ReadContext> slot = epochs.enter();
    try {
      ReadContext context = slot.context();
      View view;
      long moment;
      do {
        view = live.get();
        moment = readable(sequence);
      } while (view != live.get());
      List<byte @Nullable []> found = new ArrayList<>(keys.size());
      for (byte[] key : keys) {
        context.setKey(keyspace, key);
        found.add(points.find(view, context, moment) ? points.value(context).toArray() : null);
      }
      return found;
    } finally {
      epochs.exit(slot);
    }
  }

  public EngineCursor cursor(ScanBounds bounds, long sequence) {
    View view = null;
    EpochSlot<ReadContext> slot = epochs.enter();
    long moment;
    try {
      // The view is retained before the moment is read, and still the current one afterwards: so it
      // holds every entry up to that moment.
      while (true) {
        view = live.retain();
        moment = readable(sequence);
        if (view == live.get()) {
          break;
        }
        view.release();
      }
    } finally {
      epochs.exit(slot);
    }
    EngineCursor cursor;
    try (IteratorSources sources = sources(view)) {
      MergingIterator merged = new MergingIterator(sources.take(), ledger);
      VisibleIterator iterator =
          new VisibleIterator(merged, moment, bounds.lower(), bounds.upper(), clock, ledger);
      cursor = new EngineCursor(this, view, iterator, new ReadContext(ledger), bounds);
    } catch (RuntimeException e) {
      view.release();
      throw e;
    }
    cursors.add(cursor);
    if (!live.isOpen()) {
      cursor.close();
      throw new StoreClosedException("the store is closed");
    }
    return cursor;
  }

  /** Holds the present for reads at the returned sequence number. */
  public long acquireSnapshot() {
    live.get();
    return snapshots.acquire();
  }

  public void releaseSnapshot(long sequence) {
    snapshots.release(sequence);
  }

  int openCursors() {
    return cursors.size();
  }

  /** Closes the cursors that are still open. */
  void closeCursors() {
    for (EngineCursor cursor : cursors) {
      cursor.close();
    }
  }

  Epochs<ReadContext> epochs() {
    return epochs;
  }

  ValueReader values() {
    return values;
  }

  void forget(EngineCursor cursor) {
    cursors.remove(cursor);
  }

  private long readable(long sequence) {
    return sequence == LATEST ? snapshots.visibleSequence() : sequence;
  }

  private IteratorSources sources(View view) {
    IteratorSources sources = new IteratorSources();
    boolean complete = false;
    try {
      for (Memtable memtable : view.searched) {
        sources.add(memtable.iterator());
      }
      for (TableFile table : view.version.tables(0)) {
        sources.add(table.reader().iterator(ledger));
      }
      for (int level = 1; level < Version.LEVELS; level++) {
        TableFile[] tables = view.version.tables(level);
        if (tables.length > 0) {
          sources.add(new LevelIterator(tables, ledger));
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
