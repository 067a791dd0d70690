package io.kvsep.internal.base;

import java.util.HexFormat;
import java.util.random.RandomGenerator;

/**
 * Sixteen random bytes in every file of a store, to detect files of other stores.
 *
 * <pre>
 * offset  bytes  field
 *      0      8  high   u64 little-endian
 *      8      8  low    u64 little-endian
 * </pre>
 */
public record StoreId(long high, long low) {
  public static final int BYTES = 16;

  public static StoreId random(RandomGenerator random) {
    return new StoreId(random.nextLong(), random.nextLong());
  }

  /** 32 hexadecimal digits. */
  @Override
  public String toString() {
    HexFormat hex = HexFormat.of();
    return hex.toHexDigits(high) + hex.toHexDigits(low);
  }
}
