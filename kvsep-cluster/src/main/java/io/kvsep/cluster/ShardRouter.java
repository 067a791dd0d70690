package io.kvsep.cluster;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Passes each read to the shard of its key, and scans to all shards. */
abstract class ShardRouter implements KvReader {
  final ShardedStore sharded;

  ShardRouter(ShardedStore sharded) {
    this.sharded = sharded;
  }

  /** The reader of a shard; throws if this is of another one alone. */
  abstract KvReader at(int shard);

  /** The readers of all shards; throws if this is of one alone. */
  abstract List<? extends KvReader> all();

  private KvReader of(byte[] key) {
    return at(sharded.indexOf(key));
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return of(key).get(key);
  }

  @Override
  public boolean contains(byte[] key) {
    return of(key).contains(key);
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    return of(key).info(key);
  }

  /** Of one shard: others have no common point in time. */
  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    int shard = sharded.indexOfAll(keys);
    return shard < 0 ? List.of() : at(shard).getAll(keys);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    return of(key).<R>read(key, reader);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader) {
    return of(key).<R>readWithInfo(key, reader);
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    return of(key).<R>readWithInfo(key, valueBytesMax, reader);
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    byte[] bytes = ForwardingReader.bytes(Objects.requireNonNull(key, "key"));
    return of(bytes).get(key, target);
  }

  @Override
  public int get(byte[] key, ByteBuffer target) {
    return of(key).get(key, target);
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  /**
   * Sees each shard as of one moment, but not all as of the same. Of a single key, which readers
   * give as a range up to the next possible key, it is of that key's shard.
   */
  @Override
  public KvCursor cursor(ScanOptions options) {
    byte[] from = options.from();
    byte[] to = options.to();
    if (from != null && to != null && Arrays.equals(Arrays.copyOf(from, from.length + 1), to)) {
      return of(from).cursor(options);
    }
    return MergedCursor.of(all(), options);
  }

  @Override
  public long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return all().stream()
        .mapToLong(reader -> reader.approximateCount(fromInclusive, toExclusive))
        .sum();
  }

  @Override
  public long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return all().stream()
        .mapToLong(reader -> reader.approximateBytes(fromInclusive, toExclusive))
        .sum();
  }
}
