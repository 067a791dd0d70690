package io.kvsep;

import java.util.Map;
import java.util.Objects;

/**
 * An entry for a bulk load that is there until a moment in time; other entries of a load have no
 * end. Does not copy its arrays.
 *
 * @param expiresAtMillis milliseconds since the epoch from which on it counts as absent, positive.
 *     It may have passed: then the entry only takes away what was there under its key
 */
@SuppressWarnings("ArrayRecordComponent") // Equal are only the same: it stands for no value.
public record ExpiringEntry(byte[] key, byte[] value, long expiresAtMillis)
    implements Map.Entry<byte[], byte[]> {
  /**
   * Makes one.
   *
   * @throws IllegalArgumentException when its end is zero or negative, as a time to live must not
   *     be either
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
