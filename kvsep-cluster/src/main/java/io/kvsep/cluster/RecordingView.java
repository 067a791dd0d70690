package io.kvsep.cluster;

import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvView;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Objects;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * One keyspace in a transaction or a write buffer: a view of the local store that sees own writes,
 * which are never committed there, and a record of what was read and written.
 */
class RecordingView extends ForwardingReader implements KvView {
  final Recorder recorder;
  private final @Nullable String keyspace;
  private final KvView local;

  RecordingView(Recorder recorder, @Nullable String keyspace, KvView local) {
    this.recorder = recorder;
    this.keyspace = keyspace;
    this.local = local;
  }

  @Override
  <R extends @Nullable Object> R with(Function<KvReader, R> read) {
    return read.apply(local);
  }

  @Override
  long readMillis() {
    return recorder.readMillis();
  }

  @Override
  void reading(byte[] key) {
    super.reading(key);
    recorder.reads(keyspace, key);
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    if (!recorder.tracksReads()) {
      return super.cursor(options);
    }
    KvCursor cursor = GroupClock.<KvCursor>at(readMillis(), () -> local.cursor(options));
    TrackingCursor tracking = new TrackingCursor(cursor, readMillis(), keyspace, options);
    recorder.scans(tracking);
    return tracking;
  }

  @Override
  public void put(byte[] key, byte[] value) {
    Objects.requireNonNull(value, "value");
    recorder.request().put(keyspace, key, value);
    local.put(key, value);
    recorder.puts(keyspace, key, value);
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    Objects.requireNonNull(value, "value");
    recorder.request().put(keyspace, key, value, timeToLive);
    local.put(key, value, timeToLive);
    recorder.puts(keyspace, key, value);
  }

  @Override
  public void putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    Objects.requireNonNull(value, "value");
    recorder.request().putUntil(keyspace, key, value, expiresAtMillis);
    local.putUntil(key, value, expiresAtMillis);
    recorder.puts(keyspace, key, value);
  }

  @Override
  public long putVersioned(byte[] key, byte[] value) {
    put(key, value);
    return 0;
  }

  @Override
  public long putVersioned(byte[] key, byte[] value, Duration timeToLive) {
    put(key, value, timeToLive);
    return 0;
  }

  @Override
  public void delete(byte[] key) {
    recorder.request().delete(keyspace, key);
    local.delete(key);
    recorder.deletes(keyspace, key);
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    recorder.request().deleteRange(keyspace, fromInclusive, toExclusive);
    local.deleteRange(fromInclusive, toExclusive);
    recorder.deletesRange(keyspace, fromInclusive, toExclusive);
  }

  @Override
  public long increment(byte[] key, long delta) {
    byte[] value = get(key);
    if (value != null && value.length != Long.BYTES) {
      throw new IllegalArgumentException("the value is not 8 bytes long: " + value.length);
    }
    long sum = Math.addExact(value == null ? 0 : ByteBuffer.wrap(value).getLong(), delta);
    put(key, ByteBuffer.allocate(Long.BYTES).putLong(sum).array());
    return sum;
  }

  @Override
  public byte @Nullable [] compute(byte[] key, UnaryOperator<byte @Nullable []> function) {
    Objects.requireNonNull(function, "function");
    byte[] now = get(key);
    boolean isPresent = now != null;
    byte[] next = function.apply(now);
    if (next != null) {
      put(key, next);
    } else if (isPresent) {
      delete(key);
    }
    return next;
  }

  @Override
  public boolean expire(byte[] key, Duration timeToLive) {
    RequestWriter.millis(timeToLive);
    byte[] value = get(key);
    if (value == null) {
      return false;
    }
    put(key, value, timeToLive);
    return true;
  }
}
