package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.KvWriter;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * A database of the store or of a transaction.
 *
 * @param written gets the length of each value before it is written
 */
record ViewEntries(KvReader reader, KvWriter writer, IntConsumer written) implements Entries {
  ViewEntries(KvReader reader, KvWriter writer) {
    this(reader, writer, length -> {});
  }

  @Override
  public byte @Nullable [] get(byte[] key) {
    return reader.get(key);
  }

  @Override
  public boolean contains(byte[] key) {
    return reader.contains(key);
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    return reader.info(key);
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    return reader.getAll(keys);
  }

  @Override
  public <R> @Nullable R read(byte[] key, Function<ByteBuffer, R> reading) {
    return reader.read(key, reading);
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    return reader.cursor(options);
  }

  @Override
  public void put(byte[] key, byte[] value, long expiresAtMillis) {
    written.accept(value.length);
    if (expiresAtMillis == NEVER) {
      writer.put(key, value);
    } else {
      writer.putUntil(key, value, expiresAtMillis);
    }
  }

  @Override
  public void delete(byte[] key) {
    writer.delete(key);
  }

  @Override
  public void clear() {
    writer.deleteRange(new byte[0], Databases.LAST_KEY);
    writer.delete(Databases.LAST_KEY);
  }
}
