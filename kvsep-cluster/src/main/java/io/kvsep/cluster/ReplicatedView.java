package io.kvsep.cluster;

import io.kvsep.KeyspaceView;
import io.kvsep.KvReader;
import io.kvsep.KvView;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** One keyspace of the group. */
class ReplicatedView extends ForwardingReader implements KeyspaceView {
  final ReplicatedStore replicated;
  final Consistency consistency;
  private final @Nullable String keyspace;

  ReplicatedView(ReplicatedStore replicated, Consistency consistency, @Nullable String keyspace) {
    this.replicated = replicated;
    this.consistency = consistency;
    this.keyspace = keyspace;
  }

  @Override
  <R extends @Nullable Object> R with(Function<KvReader, R> read) {
    return replicated.read(consistency, store -> read.apply(store.reader(keyspace)));
  }

  @Override
  public void put(byte[] key, byte[] value) {
    submit(request -> request.put(keyspace, key, value));
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    submit(request -> request.put(keyspace, key, value, timeToLive));
  }

  @Override
  public void putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    submit(request -> request.putUntil(keyspace, key, value, expiresAtMillis));
  }

  @Override
  public long putVersioned(byte[] key, byte[] value) {
    put(key, value);
    return ContentHash.version(ByteBuffer.wrap(value));
  }

  @Override
  public long putVersioned(byte[] key, byte[] value, Duration timeToLive) {
    put(key, value, timeToLive);
    return ContentHash.version(ByteBuffer.wrap(value));
  }

  @Override
  public void delete(byte[] key) {
    submit(request -> request.delete(keyspace, key));
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    Objects.requireNonNull(fromInclusive, "fromInclusive");
    Objects.requireNonNull(toExclusive, "toExclusive");
    submit(request -> request.deleteRange(keyspace, fromInclusive, toExclusive));
  }

  @Override
  public long increment(byte[] key, long delta) {
    return submit(request -> request.increment(keyspace, key, delta)).number();
  }

  @Override
  public boolean compareAndSet(byte[] key, byte @Nullable [] expected, byte[] value) {
    return isApplied(
        submit(
            request -> {
              expect(request, key, expected);
              request.put(keyspace, key, value);
            }));
  }

  @Override
  public boolean compareAndDelete(byte[] key, byte[] expected) {
    Objects.requireNonNull(expected, "expected");
    return isApplied(
        submit(
            request -> {
              expect(request, key, expected);
              request.delete(keyspace, key);
            }));
  }

  @Override
  public byte @Nullable [] compute(byte[] key, UnaryOperator<byte @Nullable []> function) {
    Objects.requireNonNull(function, "function");
    return ReplicatedTransaction.<byte @Nullable []>transact(
        replicated, consistency, transaction -> in(transaction).compute(key, function));
  }

  @Override
  public boolean expire(byte[] key, Duration timeToLive) {
    return ReplicatedTransaction.<Boolean>transact(
        replicated, consistency, transaction -> in(transaction).expire(key, timeToLive));
  }

  @Override
  public long bulkLoad(Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    throw new UnsupportedOperationException("a replicated store has no bulk load: write batches");
  }

  private KvView in(ReplicatedTransaction transaction) {
    return transaction.view(keyspace);
  }

  private void expect(RequestWriter request, byte[] key, byte @Nullable [] expected) {
    if (expected == null) {
      request.absent(keyspace, key);
    } else {
      request.valueIs(keyspace, key, ContentHash.ofValue(ByteBuffer.wrap(expected)));
    }
  }

  private static boolean isApplied(Answer answer) {
    return answer.status() == Answer.Status.OK;
  }

  private Answer submit(Consumer<RequestWriter> fill) {
    RequestWriter request = replicated.newRequest();
    fill.accept(request);
    return replicated.submit(request).answer();
  }
}
