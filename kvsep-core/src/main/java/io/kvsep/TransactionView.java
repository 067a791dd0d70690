package io.kvsep;

import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.read.RangeSize;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.txn.UncommittedView;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Reads and writes one keyspace in a transaction or a write buffer. */
class TransactionView implements KvView {
  final UncommittedView uncommitted;
  private final int keyspace;

  TransactionView(UncommittedView uncommitted, int keyspace) {
    this.uncommitted = uncommitted;
    this.keyspace = keyspace;
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    Objects.requireNonNull(key, "key");
    return PageFaults.guard(() -> uncommitted.get(keyspace, key));
  }

  @Override
  public boolean contains(byte[] key) {
    Objects.requireNonNull(key, "key");
    return PageFaults.guard(() -> uncommitted.contains(keyspace, key));
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    Objects.requireNonNull(key, "key");
    return PageFaults.guard(() -> uncommitted.info(keyspace, key));
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    for (byte[] key : Objects.requireNonNull(keys, "keys")) {
      Objects.requireNonNull(key, "keys has a null element");
    }
    return PageFaults.guard(() -> uncommitted.getAll(keyspace, keys));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(reader, "reader");
    return PageFaults.guard(() -> uncommitted.read(keyspace, key, reader));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader) {
    Objects.requireNonNull(reader, "reader");
    return readWithInfo(key, Integer.MAX_VALUE, EngineReader.whole(reader));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    Objects.requireNonNull(key, "key");
    EngineReader.requireLength(valueBytesMax);
    Objects.requireNonNull(reader, "reader");
    return PageFaults.guard(() -> uncommitted.readWithInfo(keyspace, key, valueBytesMax, reader));
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(target, "target");
    return PageFaults.guard(() -> uncommitted.get(keyspace, key, target));
  }

  @Override
  public int get(byte[] key, ByteBuffer target) {
    Objects.requireNonNull(key, "key");
    EngineReader.requireWritable(target);
    return PageFaults.guard(() -> uncommitted.get(keyspace, key, target));
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    ScanBounds bounds = Objects.requireNonNull(options, "options").bounds(keyspace);
    return PageFaults.guard(() -> new StoreCursor(uncommitted.cursor(bounds)));
  }

  @Override
  public long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return size(fromInclusive, toExclusive).entries();
  }

  @Override
  public long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return size(fromInclusive, toExclusive).bytes();
  }

  private RangeSize size(byte @Nullable [] from, byte @Nullable [] to) {
    ScanBounds bounds = ScanOptions.range(from, to).bounds(keyspace);
    return PageFaults.guard(() -> uncommitted.size(bounds));
  }

  @Override
  public void put(byte[] key, byte[] value) {
    uncommitted.put(
        keyspace, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), 0);
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    uncommitted.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.millis(timeToLive));
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
  public void putUntil(byte[] key, byte[] value, long expiresAtMillis) {
    uncommitted.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.until(expiresAtMillis));
  }

  @Override
  public void delete(byte[] key) {
    uncommitted.delete(keyspace, Objects.requireNonNull(key, "key"));
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    uncommitted.deleteRange(
        keyspace,
        Objects.requireNonNull(fromInclusive, "fromInclusive"),
        Objects.requireNonNull(toExclusive, "toExclusive"));
  }

  @Override
  public long increment(byte[] key, long delta) {
    Objects.requireNonNull(key, "key");
    return PageFaults.guard(() -> uncommitted.increment(keyspace, key, delta));
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
    long millis = TimeToLive.millis(timeToLive);
    byte[] value = get(key);
    if (value == null) {
      return false;
    }
    uncommitted.put(keyspace, key, value, millis);
    return true;
  }
}
