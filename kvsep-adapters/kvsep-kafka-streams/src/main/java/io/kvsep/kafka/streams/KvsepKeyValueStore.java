package io.kvsep.kafka.streams;

import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.serialization.Serializer;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.KeyValue;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.state.HeadersBytesStore;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.TimestampedBytesStore;
import org.jspecify.annotations.Nullable;

/**
 * A key-value store. Kafka has empty keys and kvsep has none, so a key that is empty or begins with
 * a zero byte has one more zero byte in front, which keeps the order:
 *
 * <pre>
 * key in the keyspace                                            value
 * [0 if the key is empty or begins with 0], key                  value
 * </pre>
 */
class KvsepKeyValueStore extends KvsepStore implements KeyValueStore<Bytes, byte[]> {
  KvsepKeyValueStore(String name) {
    super(name);
  }

  /** Values begin with a timestamp. */
  static final class Timestamped extends KvsepKeyValueStore implements TimestampedBytesStore {
    Timestamped(String name) {
      super(name);
    }
  }

  /** Values begin with headers and a timestamp. */
  static final class WithHeaders extends KvsepKeyValueStore implements HeadersBytesStore {
    WithHeaders(String name) {
      super(name);
    }
  }

  @Override
  public void put(Bytes key, byte @Nullable [] value) {
    Objects.requireNonNull(key, "key");
    keyspace().put(stored(key.get()), value);
    updatePosition();
  }

  @Override
  public byte @Nullable [] putIfAbsent(Bytes key, byte @Nullable [] value) {
    byte[] before = get(key);
    if (before == null && value != null) {
      put(key, value);
    }
    return before;
  }

  @Override
  public void putAll(List<KeyValue<Bytes, byte[]>> entries) {
    keyspace()
        .write(
            writes -> {
              for (KeyValue<Bytes, byte[]> entry : entries) {
                add(writes, Objects.requireNonNull(entry.key, "key").get(), entry.value);
              }
            });
    updatePosition();
  }

  @Override
  public byte @Nullable [] delete(Bytes key) {
    byte[] before = get(key);
    put(key, null);
    return before;
  }

  @Override
  public byte @Nullable [] get(Bytes key) {
    return keyspace().get(stored(Objects.requireNonNull(key, "key").get()));
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> range(@Nullable Bytes from, @Nullable Bytes to) {
    return scan(from, to, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseRange(@Nullable Bytes from, @Nullable Bytes to) {
    return scan(from, to, /* forward= */ false);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> all() {
    return scan(null, null, /* forward= */ true);
  }

  @Override
  public KeyValueIterator<Bytes, byte[]> reverseAll() {
    return scan(null, null, /* forward= */ false);
  }

  @Override
  public <PS extends Serializer<P>, P> KeyValueIterator<Bytes, byte[]> prefixScan(
      P prefix, PS prefixKeySerializer) {
    Objects.requireNonNull(prefix, "prefix");
    Objects.requireNonNull(prefixKeySerializer, "prefixKeySerializer");
    byte[] bytes = prefixKeySerializer.serialize(null, prefix);
    return new Scan(
        this,
        keyspace()
            .cursor(bytes.length == 0 ? ScanOptions.all() : ScanOptions.prefix(stored(bytes))));
  }

  @Override
  public long approximateNumEntries() {
    return keyspace().entriesEstimate();
  }

  @Override
  void restore(
      Collection<ConsumerRecord<byte[], byte[]>> records,
      Writes writes,
      Consumer<ConsumerRecord<byte[], byte[]>> applied) {
    for (ConsumerRecord<byte[], byte[]> record : records) {
      add(writes, record.key(), record.value());
      applied.accept(record);
    }
  }

  private static void add(Writes writes, byte[] key, byte @Nullable [] value) {
    if (value == null) {
      writes.delete(stored(key));
    } else {
      writes.put(stored(key), value);
    }
  }

  private KeyValueIterator<Bytes, byte[]> scan(
      @Nullable Bytes from, @Nullable Bytes to, boolean forward) {
    if (from != null && to != null && from.compareTo(to) > 0) {
      warnOfInvalidRange();
      return new Scan(this, null);
    }
    byte[] end = to == null ? null : stored(to.get());
    ScanOptions options =
        ScanOptions.range(
            from == null ? null : stored(from.get()),
            end == null ? null : Arrays.copyOf(end, end.length + 1));
    return new Scan(this, keyspace().cursor(forward ? options : options.reverse()));
  }

  private static byte[] stored(byte[] key) {
    if (key.length > 0 && key[0] != 0) {
      return key;
    }
    byte[] longer = new byte[key.length + 1];
    System.arraycopy(key, 0, longer, 1, key.length);
    return longer;
  }

  private static final class Scan extends ScanIterator<Bytes> {
    private final String name;

    Scan(KvsepStore store, @Nullable KvCursor cursor) {
      super(store, cursor);
      name = store.name();
    }

    @Override
    boolean advance(KvCursor from) {
      return from.next();
    }

    @Override
    Bytes key(KvCursor at) {
      ByteBuffer view = at.keyView();
      int start = view.position();
      int skipped = view.get(start) == 0 ? 1 : 0;
      byte[] key = new byte[view.remaining() - skipped];
      view.get(start + skipped, key);
      return Bytes.wrap(key);
    }

    @Override
    boolean hasNextWhenClosed() {
      throw new InvalidStateStoreException("iterator of store " + name + " is closed");
    }
  }
}
