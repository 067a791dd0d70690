package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.ScanBounds;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.engine.StoreReads;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Objects;
import java.util.function.Function;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.jspecify.annotations.Nullable;

/** The reading half of the API over an engine, at one sequence number or at the newest. */
class EngineReader implements KvReader {
  final StorageEngine engine;

  EngineReader(StorageEngine engine) {
    this.engine = engine;
  }

  /** The sequence number to read at, {@link StorageEngine#LATEST} for the newest. */
  long readSequence() {
    return StoreReads.LATEST;
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return engine
        .reads()
        .get(Keyspaces.DEFAULT, Objects.requireNonNull(key, "key"), readSequence());
  }

  @Override
  public boolean contains(byte[] key) {
    return engine
        .reads()
        .contains(Keyspaces.DEFAULT, Objects.requireNonNull(key, "key"), readSequence());
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    for (byte[] key : Objects.requireNonNull(keys, "keys")) {
      Objects.requireNonNull(key, "keys has a null element");
    }
    return engine.reads().getAll(Keyspaces.DEFAULT, keys, readSequence());
  }

  @Override
  public <R extends @Nullable Object> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    return engine
        .reads()
        .read(
            Keyspaces.DEFAULT,
            Objects.requireNonNull(key, "key"),
            readSequence(),
            Objects.requireNonNull(reader, "reader"));
  }

  @Override
  public long get(BytesStore<?, ?> key, Bytes<?> target) {
    return engine
        .reads()
        .get(
            Keyspaces.DEFAULT,
            Objects.requireNonNull(key, "key"),
            Objects.requireNonNull(target, "target"),
            readSequence());
  }

  @Override
  public KvCursor cursor() {
    return cursor(ScanOptions.all());
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    Objects.requireNonNull(options, "options");
    ScanBounds bounds =
        new ScanBounds(
            Keyspaces.DEFAULT,
            options.from(),
            options.to(),
            options.isReverse(),
            options.isKeysOnly(),
            options.limit());
    return new StoreCursor(engine.reads().cursor(bounds, readSequence()));
  }
}
