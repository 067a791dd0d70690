package io.kvsep;

import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.txn.EngineTransaction;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Reads and writes one keyspace in a transaction. */
class TransactionView implements KvView {
  final EngineTransaction transaction;
  private final int keyspace;

  TransactionView(EngineTransaction transaction, int keyspace) {
    this.transaction = transaction;
    this.keyspace = keyspace;
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      return transaction.get(keyspace, key);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public boolean contains(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      return transaction.contains(keyspace, key);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      return transaction.info(keyspace, key);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    for (byte[] key : Objects.requireNonNull(keys, "keys")) {
      Objects.requireNonNull(key, "keys has a null element");
    }
    try {
      return transaction.getAll(keyspace, keys);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(reader, "reader");
    try {
      return transaction.read(keyspace, key, reader);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
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
    try {
      return transaction.readWithInfo(keyspace, key, valueBytesMax, reader);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(target, "target");
    try {
      return transaction.get(keyspace, key, target);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    ScanBounds bounds = Objects.requireNonNull(options, "options").bounds(keyspace);
    try {
      return new StoreCursor(transaction.cursor(bounds));
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public void put(byte[] key, byte[] value) {
    transaction.put(
        keyspace, Objects.requireNonNull(key, "key"), Objects.requireNonNull(value, "value"), 0);
  }

  @Override
  public void put(byte[] key, byte[] value, Duration timeToLive) {
    transaction.put(
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
    transaction.put(
        keyspace,
        Objects.requireNonNull(key, "key"),
        Objects.requireNonNull(value, "value"),
        TimeToLive.until(expiresAtMillis));
  }

  @Override
  public void delete(byte[] key) {
    transaction.delete(keyspace, Objects.requireNonNull(key, "key"));
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    transaction.deleteRange(
        keyspace,
        Objects.requireNonNull(fromInclusive, "fromInclusive"),
        Objects.requireNonNull(toExclusive, "toExclusive"));
  }

  @Override
  public long increment(byte[] key, long delta) {
    Objects.requireNonNull(key, "key");
    try {
      return transaction.increment(keyspace, key, delta);
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }
}
