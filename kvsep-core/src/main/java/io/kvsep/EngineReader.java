package io.kvsep;

import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.read.RangeSize;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.view.SnapshotLease;
import java.nio.ByteBuffer;
import java.nio.ReadOnlyBufferException;
import java.util.List;
import java.util.Objects;
import java.util.function.BiFunction;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** Reads one keyspace of an engine, at a snapshot or at the latest state. */
class EngineReader implements KvReader {
  final StorageEngine engine;
  final int keyspace;
  private final StoreReads reads;

  EngineReader(StorageEngine engine, int keyspace) {
    this.engine = engine;
    this.keyspace = keyspace;
    this.reads = engine.reads();
  }

  /** The snapshot to read at; {@link StoreReads#LATEST} for the latest state. */
  SnapshotLease hold() {
    return StoreReads.LATEST;
  }

  /** Called after a read; throws if the result is not valid. */
  void confirm() {}

  @Override
  public byte @Nullable [] get(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      byte[] value = reads.get(keyspace, key, hold());
      confirm();
      return value;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public boolean contains(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      boolean present = reads.contains(keyspace, key, hold());
      confirm();
      return present;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    Objects.requireNonNull(key, "key");
    try {
      EntryInfo found = reads.info(keyspace, key, hold());
      confirm();
      return found;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    for (byte[] key : Objects.requireNonNull(keys, "keys")) {
      Objects.requireNonNull(key, "keys has a null element");
    }
    List<byte @Nullable []> values = PageFaults.guard(() -> reads.getAll(keyspace, keys, hold()));
    confirm();
    return values;
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(reader, "reader");
    try {
      R result = reads.read(keyspace, key, hold(), reader);
      confirm();
      return result;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, BiFunction<EntryInfo, ByteBuffer, R> reader) {
    Objects.requireNonNull(reader, "reader");
    return readWithInfo(key, Integer.MAX_VALUE, whole(reader));
  }

  @Override
  public <R extends @Nullable Object> @Nullable R readWithInfo(
      byte[] key, int valueBytesMax, BiFunction<EntryInfo, @Nullable ByteBuffer, R> reader) {
    Objects.requireNonNull(key, "key");
    requireLength(valueBytesMax);
    Objects.requireNonNull(reader, "reader");
    R result =
        PageFaults.guard(() -> reads.readWithInfo(keyspace, key, hold(), valueBytesMax, reader));
    confirm();
    return result;
  }

  static <R extends @Nullable Object> BiFunction<EntryInfo, @Nullable ByteBuffer, R> whole(
      BiFunction<EntryInfo, ByteBuffer, R> reader) {
    return (info, view) -> reader.apply(info, Objects.requireNonNull(view));
  }

  static void requireLength(int valueBytesMax) {
    if (valueBytesMax < 0) {
      throw new IllegalArgumentException("valueBytesMax must not be negative: " + valueBytesMax);
    }
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(target, "target");
    try {
      long length = reads.get(keyspace, key, target, hold());
      confirm();
      return length;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public int get(byte[] key, ByteBuffer target) {
    Objects.requireNonNull(key, "key");
    requireWritable(target);
    try {
      int length = reads.get(keyspace, key, target, hold());
      confirm();
      return length;
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  static void requireWritable(ByteBuffer target) {
    if (Objects.requireNonNull(target, "target").isReadOnly()) {
      throw new ReadOnlyBufferException();
    }
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    ScanBounds bounds = Objects.requireNonNull(options, "options").bounds(keyspace);
    SnapshotCursor cursor = PageFaults.guard(() -> reads.cursor(bounds, hold()));
    boolean handedOver = false;
    try {
      confirm();
      KvCursor shown = new StoreCursor(cursor);
      handedOver = true;
      return shown;
    } finally {
      if (!handedOver) {
        cursor.close();
      }
    }
  }

  @Override
  public long approximateCount(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return size(fromInclusive, toExclusive).entries();
  }

  @Override
  public long approximateBytes(byte @Nullable [] fromInclusive, byte @Nullable [] toExclusive) {
    return size(fromInclusive, toExclusive).bytes();
  }

  final RangeSize size(byte @Nullable [] from, byte @Nullable [] to) {
    ScanBounds bounds = ScanOptions.range(from, to).bounds(keyspace);
    RangeSize size = PageFaults.guard(() -> reads.size(bounds, hold()));
    confirm();
    return size;
  }
}
