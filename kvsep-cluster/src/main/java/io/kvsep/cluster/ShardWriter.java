package io.kvsep.cluster;

import io.kvsep.KvView;
import java.time.Duration;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** Passes each call to the shard of its key. */
abstract class ShardWriter extends ShardRouter implements KvView {
  ShardWriter(ShardedStore sharded) {
    super(sharded);
  }

  @Override
  abstract KvView at(int shard);

  private KvView of(byte[] key) {
    return at(sharded.indexOf(key));
  }

  @Override
  public void put(byte[] key, byte[] value) {
    of(key).put(key, value);
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    of(key).put(key, value, timeToLive);
  }

  @Override
  public void putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    of(key).putUntil(key, value, expiresAtMillis);
  }

  @Override
  public long putVersioned(byte[] key, byte[] value) {
    return of(key).putVersioned(key, value);
  }

  @Override
  public long putVersioned(byte[] key, byte[] value, Duration timeToLive) {
    return of(key).putVersioned(key, value, timeToLive);
  }

  @Override
  public void delete(byte[] key) {
    of(key).delete(key);
  }

  @Override
  public long increment(byte[] key, long delta) {
    return of(key).increment(key, delta);
  }

  @Override
  public byte @Nullable [] compute(byte[] key, UnaryOperator<byte @Nullable []> function) {
    return of(key).compute(key, function);
  }

  @Override
  public boolean expire(byte[] key, Duration timeToLive) {
    return of(key).expire(key, timeToLive);
  }
}
