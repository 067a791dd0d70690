package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.KvCursor;
import io.kvsep.KvReader;
import io.kvsep.ScanOptions;
import io.kvsep.error.ReadOnlyStoreException;
import java.nio.ByteBuffer;
import java.util.Collections;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * An empty database, in place of one that does not exist and cannot be created because the store or
 * the connection is read-only.
 *
 * @param store source of cursors, which return no entry
 */
record NoEntries(KvReader store) implements Entries {
  @Override
  public byte @Nullable [] get(byte[] key) {
    return null;
  }

  @Override
  public boolean contains(byte[] key) {
    return false;
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    return null;
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    return Collections.nCopies(keys.size(), null);
  }

  @Override
  public <R> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    return null;
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    return store.cursor(options.limit(0));
  }

  @Override
  public void put(byte[] key, byte[] value, long expiresAtMillis) {
    throw new ReadOnlyStoreException();
  }

  @Override
  public void delete(byte[] key) {
    throw new ReadOnlyStoreException();
  }

  @Override
  public void clear() {
    throw new ReadOnlyStoreException();
  }
}
