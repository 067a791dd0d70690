package io.kvsep.kafka.streams;

import io.kvsep.Keyspace;
import io.kvsep.KeyspaceView;
import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.apache.kafka.common.utils.Bytes;
import org.jspecify.annotations.Nullable;

/**
 * Writes to a keyspace that wait for more, because the operating system takes little longer for 32
 * KiB than for one short write. A killed process loses them, which Kafka expects before a commit. A
 * get finds them here; what else reads calls {@link #flush} first. Thread safe.
 */
final class PendingWrites {
  private static final int BYTES_MAX = 32 << 10;
  private static final byte[] DELETED = new byte[0];

  private final KvStore store;
  private final Keyspace keyspace;
  private final KeyspaceView view;
  private final Writes target = new Target();

  /** The last write of each key; guarded by this. */
  private Map<Bytes, byte[]> writes = new HashMap<>();

  /** Guarded by this. */
  private long bytes;

  /** Whether there are writes; changed with them. */
  private volatile boolean any;

  PendingWrites(KvStore store, Keyspace keyspace) {
    this.store = store;
    this.keyspace = keyspace;
    view = store.in(keyspace);
  }

  byte @Nullable [] get(byte[] key) {
    if (any) {
      synchronized (this) {
        byte[] value = writes.get(Bytes.wrap(key));
        if (value != null) {
          return value == DELETED ? null : value.clone();
        }
      }
    }
    return view.get(key);
  }

  synchronized void put(byte[] key, byte @Nullable [] value) {
    if (value == null) {
      target.delete(key);
    } else {
      target.put(key, value);
    }
    flushIfFull();
  }

  /** Does writes that others see at once. */
  synchronized void write(Consumer<Writes> work) {
    work.accept(target);
    flushIfFull();
  }

  private void flushIfFull() {
    if (bytes >= BYTES_MAX) {
      flush();
    }
  }

  /** Hands everything to the store. If that fails, the writes stay. */
  void flush() {
    if (!any) {
      return;
    }
    synchronized (this) {
      if (writes.isEmpty()) {
        return;
      }
      WriteBatch batch = new WriteBatch().in(keyspace);
      writes.forEach(
          (key, value) -> {
            if (value == DELETED) {
              batch.delete(key.get());
            } else {
              batch.put(key.get(), value);
            }
          });
      store.write(batch);
      writes = new HashMap<>();
      bytes = 0;
      any = false;
    }
  }

  /** What is long, and might be refused, goes to the store at once. */
  private final class Target implements Writes {
    @Override
    public void put(byte[] key, byte[] value) {
      if ((long) key.length + value.length < BYTES_MAX) {
        add(key, value.clone());
      } else {
        flush();
        view.put(key, value);
      }
    }

    @Override
    public void delete(byte[] key) {
      if (key.length < BYTES_MAX) {
        add(key, DELETED);
      } else {
        flush();
        view.delete(key);
      }
    }

    @Override
    public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
      flush();
      view.deleteRange(fromInclusive, toExclusive);
    }

    private void add(byte[] key, byte[] value) {
      writes.put(Bytes.wrap(key), value);
      bytes += key.length + value.length;
      any = true;
    }
  }
}
