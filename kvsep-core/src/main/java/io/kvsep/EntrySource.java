package io.kvsep;

import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.load.LoadSource;
import java.util.Iterator;
import java.util.Map;
import java.util.Objects;

/** Adapts a user's iterator to a bulk load. */
final class EntrySource implements LoadSource {
  private static final byte[] NONE = {};

  private final Iterator<? extends Map.Entry<byte[], byte[]>> entries;
  private byte[] key = NONE;
  private byte[] value = NONE;
  private long expiresAtMillis;

  EntrySource(Iterator<? extends Map.Entry<byte[], byte[]>> entries) {
    this.entries = entries;
  }

  @Override
  public boolean next() {
    if (!entries.hasNext()) {
      return false;
    }
    Map.Entry<byte[], byte[]> entry = Objects.requireNonNull(entries.next(), "entry");
    key = Objects.requireNonNull(entry.getKey(), "key");
    value = Objects.requireNonNull(entry.getValue(), "value");
    expiresAtMillis =
        entry instanceof ExpiringEntry expiring ? expiring.expiresAtMillis() : Payload.NEVER;
    return true;
  }

  @Override
  public byte[] key() {
    return key;
  }

  @Override
  public byte[] value() {
    return value;
  }

  @Override
  public long expiresAtMillis() {
    return expiresAtMillis;
  }
}
