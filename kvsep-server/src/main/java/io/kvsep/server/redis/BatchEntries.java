package io.kvsep.server.redis;

import io.kvsep.EntryInfo;
import io.kvsep.Keyspace;
import io.kvsep.KvCursor;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Adds writes to one database to a batch. Commands that read never use it. */
record BatchEntries(WriteBatch batch, @Nullable Keyspace keyspace) implements Entries {
  @Override
  public byte @Nullable [] get(byte[] key) {
    throw unread();
  }

  @Override
  public boolean contains(byte[] key) {
    throw unread();
  }

  @Override
  public @Nullable EntryInfo info(byte[] key) {
    throw unread();
  }

  @Override
  public List<byte @Nullable []> getAll(List<byte[]> keys) {
    throw unread();
  }

  @Override
  public <R> @Nullable R read(byte[] key, Function<ByteBuffer, R> reader) {
    throw unread();
  }

  @Override
  public KvCursor cursor(ScanOptions options) {
    throw unread();
  }

  @Override
  public void put(byte[] key, byte[] value, long expiresAtMillis) {
    choose();
    if (expiresAtMillis == NEVER) {
      batch.put(key, value);
    } else {
      batch.putUntil(key, value, expiresAtMillis);
    }
  }

  @Override
  public void delete(byte[] key) {
    choose();
    batch.delete(key);
  }

  @Override
  public void clear() {
    choose();
    batch.deleteRange(new byte[0], Databases.LAST_KEY).delete(Databases.LAST_KEY);
  }

  private void choose() {
    if (keyspace == null) {
      batch.inDefault();
    } else {
      batch.in(keyspace);
    }
  }

  private static AssertionError unread() {
    return new AssertionError("a command that reads was taken for one that only writes");
  }
}
