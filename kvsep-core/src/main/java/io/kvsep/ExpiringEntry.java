package io.kvsep;

import java.util.Map;
import java.util.Objects;

/**
 * An entry with an expiry time for a bulk load; other entries of a load never expire. Does not copy
 * its arrays.
 *
 * @param key the key
 * @param value the value
 * @param expiresAtMillis milliseconds since the epoch from which the entry is absent; positive. If
 *     it has passed, the entry only removes the existing entry of its key
 */
@SuppressWarnings("ArrayRecordComponent") // Arrays compare by identity; entries are not values.
public record ExpiringEntry(byte[] key, byte[] value, long expiresAtMillis)
    implements Map.Entry<byte[], byte[]> {
  /**
   * Checks its components.
   *
   * @throws IllegalArgumentException if {@code expiresAtMillis} is zero or negative
   */
  public ExpiringEntry {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
    if (expiresAtMillis <= 0) {
      throw new IllegalArgumentException("expiresAtMillis must be positive: " + expiresAtMillis);
    }
  }

  @Override
  public byte[] getKey() {
    return key;
  }

  @Override
  public byte[] getValue() {
    return value;
  }

  /** Not supported. */
  @Override
  public byte[] setValue(byte[] other) {
    throw new UnsupportedOperationException("an entry of a bulk load does not change");
  }
}
