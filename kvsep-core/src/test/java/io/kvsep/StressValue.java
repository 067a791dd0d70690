package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Values that say what they are: space, index and version first, then a body that follows from
 * these. Bodies are of very different lengths, so that values lie beside their keys or in the log,
 * some in a segment of their own; every other body compresses.
 */
final class StressValue {
  private static final int HEADER_BYTES = 8 + 4 + 8;

  private StressValue() {}

  static byte[] of(long space, int index, long version) {
    long hash = hash(space, index, version);
    ByteBuffer value = ByteBuffer.allocate(HEADER_BYTES + bodyLength(hash));
    value.putLong(space).putInt(index).putLong(version);
    boolean compresses = (hash & 1) == 0;
    long word = hash;
    while (value.remaining() >= 8) {
      value.putLong(word);
      word = compresses ? word : mix(word);
    }
    while (value.hasRemaining()) {
      value.put((byte) word);
    }
    return value.array();
  }

  /** Checks that this is, whole, a value of that key, and tells its version. */
  static long version(long space, int index, ByteBuffer value) {
    String whose = "key " + index + " of space " + space;
    assertTrue(value.remaining() >= HEADER_BYTES, () -> whose + ": a short value");
    int start = value.position();
    assertEquals(space, value.getLong(start), () -> "space of the value of " + whose);
    assertEquals(index, value.getInt(start + 8), () -> "index of the value of " + whose);
    long version = value.getLong(start + 12);
    byte[] expected = of(space, index, version);
    if (!ByteBuffer.wrap(expected).equals(value)) {
      byte[] found = new byte[value.remaining()];
      value.duplicate().get(found);
      int at = Arrays.mismatch(expected, found);
      throw new AssertionError(
          "version "
              + version
              + " of "
              + whose
              + " has "
              + found.length
              + " bytes instead of "
              + expected.length
              + " and differs at "
              + at);
    }
    return version;
  }

  /** Whether that version is written with a time to live, a long one. */
  static boolean expires(long space, int index, long version) {
    return (hash(space, index, version) & 0xf0) == 0;
  }

  private static int bodyLength(long hash) {
    int kind = (int) (hash >>> 32 & 0x7f);
    int most = kind < 50 ? 44 : kind < 90 ? 300 : kind < 117 ? 1_500 : kind < 127 ? 6_000 : 50_000;
    return (int) ((hash >>> 40) % most);
  }

  private static long hash(long space, int index, long version) {
    return mix(mix(space * 1_000_003 + index) + version);
  }

  private static long mix(long word) {
    long mixed = (word ^ (word >>> 30)) * 0xbf58476d1ce4e5b9L;
    mixed = (mixed ^ (mixed >>> 27)) * 0x94d049bb133111ebL;
    return mixed ^ (mixed >>> 31) ^ 0x9e3779b97f4a7c15L;
  }
}
