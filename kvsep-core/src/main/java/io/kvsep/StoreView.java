package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import java.time.Duration;
import java.util.Objects;

/** Reads and writes the latest state of one keyspace. */
class StoreView extends EngineReader implements KvView {
  StoreView(StorageEngine engine, int keyspace) {
    super(engine, keyspace);
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
    return engine
        .writes()
        .put(
            keyspace,
            Objects.requireNonNull(key, "key"),
            Objects.requireNonNull(value, "value"),
            timeToLiveMillis);
  }

  @Override
  public void delete(byte[] key) {
    engine.writes().delete(keyspace, Objects.requireNonNull(key, "key"));
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    // The commit leader refuses writes to a dropped keyspace, but never sees an empty range.
    confirm();
    engine
        .writes()
        .deleteRange(
            keyspace,
            Objects.requireNonNull(fromInclusive, "fromInclusive"),
            Objects.requireNonNull(toExclusive, "toExclusive"));
  }

  @Override
  public long increment(byte[] key, long delta) {
    return engine.writes().increment(keyspace, Objects.requireNonNull(key, "key"), delta);
  }
}
