package io.kvsep;

import java.util.Arrays;
import java.util.HexFormat;
import java.util.Objects;

/**
 * A key with its value. Equal to another if the bytes of both are equal. Holds the arrays that it
 * was given and does not copy them; those that a store returns are new.
 *
 * @param key the key
 * @param value the value
 */
@SuppressWarnings("ArrayRecordComponent") // equality is by content, see equals
public record KvEntry(byte[] key, byte[] value) {
  /** Checks its components. */
  public KvEntry {
    Objects.requireNonNull(key, "key");
    Objects.requireNonNull(value, "value");
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof KvEntry that
        && Arrays.equals(key, that.key)
        && Arrays.equals(value, that.value);
  }

  @Override
  public int hashCode() {
    return 31 * Arrays.hashCode(key) + Arrays.hashCode(value);
  }

  /** {@return the key as hexadecimal digits and the length of the value} */
  @Override
  public String toString() {
    return "KvEntry[key="
        + HexFormat.of().formatHex(key)
        + ", value of "
        + value.length
        + " bytes]";
  }
}
