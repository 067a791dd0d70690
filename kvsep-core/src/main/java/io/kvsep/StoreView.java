package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.write.StoreWrites;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Reads and writes the latest state of one keyspace. */
class StoreView extends EngineReader implements KeyspaceView {
  private static final Current ABSENT = new Current(0, null);

  /** The newest entry of a key; version 0 if there is none. */
  @SuppressWarnings("ArrayRecordComponent") // never compared
  private record Current(long version, byte @Nullable [] value) {}

  private final StoreWrites writes;

  StoreView(StorageEngine engine, int keyspace) {
    super(engine, keyspace);
    this.writes = engine.writes();
  }

  @Override
  void confirm() {
    if (keyspace != Keyspaces.DEFAULT) {
      engine.keyspaces().requirePresent(keyspace);
    }
  }

  @Override
  public void put(byte[] key, byte[] value) {
    put(key, value, 0);
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    put(key, value, TimeToLive.millis(timeToLive));
  }

  @Override
  public long putVersioned(byte[] key, byte[] value) {
    return put(key, value, 0);
  }

  @Override
  public long putVersioned(byte[] key, byte[] value, Duration timeToLive) {
    return put(key, value, TimeToLive.millis(timeToLive));
  }

  @Override
  public void putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    put(key, value, TimeToLive.until(expiresAtMillis));
  }

  private long put(byte[] key, byte[] value, long timeToLiveMillis) {
    return writes.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        timeToLiveMillis);
  }

  @Override
  public void delete(byte[] key) {
    writes.delete(keyspace, Objects.requireNonNull(key, "key"));
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    // The commit leader refuses writes to a dropped keyspace, but never sees an empty range.
    confirm();
    writes.deleteRange(
        keyspace,
        Objects.requireNonNull(fromInclusive, "fromInclusive"),
        Objects.requireNonNull(toExclusive, "toExclusive"));
  }

  @Override
  public long increment(byte[] key, long delta) {
    return writes.increment(keyspace, Objects.requireNonNull(key, "key"), delta);
  }

  @Override
  public boolean compareAndSet(byte[] key, byte @Nullable [] expected, byte[] value) {
    return writes.compareAndSet(
        keyspace,
        Objects.requireNonNull(key, "key"),
        expected,
        Objects.requireNonNull(value, "value"));
  }

  @Override
  public boolean compareAndDelete(byte[] key, byte[] expected) {
    return writes.compareAndSet(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(expected, "expected"),
        null);
  }

  @Override
  public byte @Nullable [] compute(byte[] key, UnaryOperator<byte @Nullable []> function) {
    Objects.requireNonNull(function, "function");
    while (true) {
      Current now = current(key);
      byte[] next = function.apply(now.value());
      boolean isAbsent = next == null && now.version() == 0;
      if (isAbsent || writes.replace(keyspace, key, now.version(), next, 0)) {
        return next;
      }
    }
  }

  @Override
  public boolean expire(byte[] key, Duration timeToLive) {
    long millis = TimeToLive.millis(timeToLive);
    while (true) {
      Current now = current(key);
      if (now.value() == null) {
        return false;
      }
      if (writes.replace(keyspace, key, now.version(), now.value(), millis)) {
        return true;
      }
    }
  }

  private Current current(byte[] key) {
    Current found =
        readWithInfo(
            key,
            (info, view) -> {
              byte[] value = new byte[view.remaining()];
              view.get(value);
              return new Current(info.version(), value);
            });
    return found == null ? ABSENT : found;
  }

  @Override
  public long bulkLoad(Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    Objects.requireNonNull(entries, "entries");
    confirm();
    return engine.loads().load(keyspace, new EntrySource(entries));
  }
}
