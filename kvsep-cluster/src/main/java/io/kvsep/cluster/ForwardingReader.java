package io.kvsep.cluster;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/**
 * Reads what {@link #with} chooses for each call. Versions of entries are replaced by {@link
 * ContentHash#version}: sequence numbers differ between replicas.
 */
abstract class ForwardingReader implements KvReader {
  /** Runs {@code read} on the reader of the moment, perhaps more than once. */
  abstract <R extends @Nullable Object> R with(Function<KvReader, R> read);

  /** The time by which entries have expired. */
  long readMillis() {
    return GroupClock.WALL;
  }

  private <R extends @Nullable Object> R ask(Function<KvReader, R> read) {
    return this.<R>with(reader -> GroupClock.<R>at(readMillis(), () -> read.apply(reader)));
  }

  /** Called before each read of a key. */
  void reading(byte[] key) {
    Objects.requireNonNull(key, "key");
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    reading(key);
    return this.<byte @Nullable []>ask(reader -> reader.get(key));
  }

  @Override
  public boolean contains(byte[] key) {
    reading(key);
    return ask(reader -> reader.contains(key));
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    return readWithInfo(key, (info, value) -> info);
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    Objects.requireNonNull(keys, "keys").forEach(this::reading);
    return ask(reader -> reader.getAll(keys));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    Objects.requireNonNull(reader, "reader");
    reading(key);
    return this.<@Nullable R>ask(view -> view.read(key, reader));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader) {
    Objects.requireNonNull(reader, "reader");
    reading(key);
    return this.<@Nullable R>ask(
        view ->
            view.readWithInfo(key, (info, value) -> reader.apply(versioned(info, value), value)));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    if (valueBytesMax < 0) {
      throw new IllegalArgumentException("valueBytesMax is negative: " + valueBytesMax);
    }
    Objects.requireNonNull(reader, "reader");
    return readWithInfo(
        key, (info, value) -> reader.apply(info, value.remaining() > valueBytesMax ? null : value));
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    Objects.requireNonNull(target, "target");
    reading(bytes(Objects.requireNonNull(key, "key")));
    return ask(reader -> reader.get(key, target));
  }

  @Override
  public int get(byte[] key, ByteBuffer target) {
    Objects.requireNonNull(target, "target");
    reading(key);
    return ask(reader -> reader.get(key, target));
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    Objects.requireNonNull(options, "options");
    return new ReaderCursor(ask(reader -> reader.cursor(options)), readMillis());
  }

  @Override
  public long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return ask(reader -> reader.approximateCount(fromInclusive, toExclusive));
  }

  @Override
  public long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return ask(reader -> reader.approximateBytes(fromInclusive, toExclusive));
  }

  static byte[] bytes(BytesStore<?, ?> content) {
    byte[] bytes = new byte[Math.toIntExact(content.readRemaining())];
    content.read(content.readPosition(), bytes, 0, bytes.length);
    return bytes;
  }

  private static EntryInfo versioned(EntryInfo info, ByteBuffer value) {
    return new EntryInfo(
        ContentHash.version(value.duplicate()), info.valueLength(), info.expiresAtMillis());
  }
}
