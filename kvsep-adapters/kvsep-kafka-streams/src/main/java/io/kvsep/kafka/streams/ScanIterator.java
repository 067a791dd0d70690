package io.kvsep.kafka.streams;

import io.kvsep.KvCursor;
import io.kvsep.error.KvException;
import io.kvsep.error.StoreClosedException;
import java.util.NoSuchElementException;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.jspecify.annotations.Nullable;

/**
 * An iterator of Kafka over a cursor. Ends with its store: {@link KvsepStore#close} closes it.
 *
 * @param <K> type of the keys
 */
abstract class ScanIterator<K> implements KeyValueIterator<K, byte[]>, AutoCloseable {
  private final KvsepStore store;
  private @Nullable KvCursor cursor;
  private boolean onEntry;
  private boolean ended;
  private volatile boolean closed;

  /** A scan that opens its cursor when it is first asked. */
  ScanIterator(KvsepStore store) {
    this.store = store;
  }

  /** A scan with a cursor, or without entries if that is null. */
  ScanIterator(KvsepStore store, @Nullable KvCursor cursor) {
    this.store = store;
    take(cursor);
  }

  /** Opens the cursor; null if there are no entries. */
  @Nullable KvCursor open() {
    return null;
  }

  private void take(@Nullable KvCursor opened) {
    cursor = opened;
    ended = opened == null;
    if (opened != null) {
      store.openCursors().add(this);
    }
  }

  /** Moves to the next entry; false if there is none. */
  abstract boolean advance(KvCursor from);

  /** {@return the key of the entry} */
  abstract K key(KvCursor at);

  /** {@return the value of the entry} */
  byte[] value(KvCursor at) {
    return at.value();
  }

  /** What {@link #hasNext} answers, or throws, once iterator or store is closed. */
  abstract boolean hasNextWhenClosed();

  @Override
  public boolean hasNext() {
    if (closed) {
      return hasNextWhenClosed();
    }
    if (cursor == null && !ended) {
      take(open());
    }
    KvCursor from = cursor;
    if (!onEntry && !ended && from != null) {
      try {
        onEntry = advance(from);
      } catch (StoreClosedException e) {
        return hasNextWhenClosed();
      } catch (KvException e) {
        throw store.keyspace().translated(e);
      }
      ended = !onEntry;
    }
    return onEntry;
  }

  @Override
  public K peekNextKey() {
    KvCursor at = entry();
    try {
      return key(at);
    } catch (KvException e) {
      throw store.keyspace().translated(e);
    }
  }

  @Override
  public KeyValue<K, byte[]> next() {
    KvCursor at = entry();
    try {
      KeyValue<K, byte[]> result = new KeyValue<>(key(at), value(at));
      onEntry = false;
      return result;
    } catch (KvException e) {
      throw store.keyspace().translated(e);
    }
  }

  private KvCursor entry() {
    boolean has = hasNext();
    KvCursor at = cursor;
    if (!has || at == null) {
      throw new NoSuchElementException();
    }
    return at;
  }

  @Override
  public void close() {
    closed = true;
    KvCursor open = cursor;
    if (open != null) {
      store.openCursors().remove(this);
      open.close();
    }
  }
}
