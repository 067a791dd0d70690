package io.kvsep.collections;

import io.kvsep.ScanOptions;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Encoded keys from {@code from}, inclusive, to {@code to}, exclusive; null is an open end. Empty
 * if the bounds meet or cross.
 */
@SuppressWarnings("ArrayRecordComponent") // never compared
record KeyRange(byte @Nullable [] from, byte @Nullable [] to) {
  static final KeyRange ALL = new KeyRange(null, null);

  /** The smallest key after {@code key}. */
  static byte[] successor(byte[] key) {
    return Arrays.copyOf(key, key.length + 1);
  }

  boolean contains(byte[] key) {
    return (from == null || Arrays.compareUnsigned(key, from) >= 0)
        && (to == null || Arrays.compareUnsigned(key, to) < 0);
  }

  /** The part of this range at and after {@code bound}. */
  KeyRange from(byte[] bound) {
    return from != null && Arrays.compareUnsigned(bound, from) <= 0
        ? this
        : new KeyRange(bound, to);
  }

  /** The part of this range before {@code bound}. */
  KeyRange to(byte[] bound) {
    return to != null && Arrays.compareUnsigned(bound, to) >= 0 ? this : new KeyRange(from, bound);
  }

  /** The part of this range whose keys begin with {@code prefix}. */
  KeyRange startingWith(byte[] prefix) {
    KeyRange part = from(prefix.clone());
    for (int i = prefix.length - 1; i >= 0; i--) {
      if (prefix[i] != (byte) 0xff) {
        byte[] after = Arrays.copyOf(prefix, i + 1);
        after[i]++;
        return part.to(after);
      }
    }
    return part;
  }

  /** The part for a sub-map from {@code key} on; throws if the bound is outside this range. */
  KeyRange boundedFrom(byte[] key, boolean isInclusive) {
    byte[] bound = isInclusive ? key : successor(key);
    // An exclusive bound may be the exclusive end: the sub-map is empty.
    check(from == null || Arrays.compareUnsigned(bound, from) >= 0);
    check(to == null || Arrays.compareUnsigned(bound, successor(to)) <= 0);
    return from(bound);
  }

  /** The part for a sub-map up to {@code key}; throws if the bound is outside this range. */
  KeyRange boundedTo(byte[] key, boolean isInclusive) {
    byte[] bound = isInclusive ? successor(key) : key;
    check(to == null || Arrays.compareUnsigned(bound, to) <= 0);
    check(from == null || Arrays.compareUnsigned(successor(bound), from) >= 0);
    return to(bound);
  }

  private static void check(boolean isInside) {
    if (!isInside) {
      throw new IllegalArgumentException("bound out of range");
    }
  }

  ScanOptions options(boolean isDescending) {
    ScanOptions ascending = ScanOptions.range(from, to);
    return isDescending ? ascending.reverse() : ascending;
  }
}
