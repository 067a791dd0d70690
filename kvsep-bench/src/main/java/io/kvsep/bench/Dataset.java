package io.kvsep.bench;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Entries derived from their ordinal: 22-byte keys {@code vsz=<valueBytes>-k=<ordinal>} and
 * incompressible values. Immutable, thread safe; writes into arrays of the caller and allocates
 * nothing.
 */
public record Dataset(long entryCount, int valueBytes) {
  public static final int KEY_BYTES = 22;
  public static final long ENTRIES_MAX = 10_000_000_000L;
  static final int VALUE_BYTES_MAX = 99_999;

  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final long GOLDEN = 0x9e3779b97f4a7c15L;
  private static final int ORDINAL_DIGITS = 10;

  /** A key array complete except for the ordinal. */
  public byte[] newKey() {
    byte[] key = new byte[KEY_BYTES];
    key[0] = 'v';
    key[1] = 's';
    key[2] = 'z';
    key[3] = '=';
    putDigits(key, 4, 5, valueBytes);
    key[9] = '-';
    key[10] = 'k';
    key[11] = '=';
    return key;
  }

  public long rawBytes() {
    return entryCount * (KEY_BYTES + valueBytes);
  }

  /** Turns a key of {@link #newKey} into that of {@code ordinal}. */
  public void putKey(long ordinal, byte[] key) {
    putDigits(key, KEY_BYTES - ORDINAL_DIGITS, ORDINAL_DIGITS, ordinal);
  }

  /** A key of the same length directly after that of {@code ordinal}, which no entry has. */
  public void putAbsentKey(long ordinal, byte[] key) {
    putKey(ordinal, key);
    key[KEY_BYTES - 1] = (byte) (key[KEY_BYTES - 1] + 16);
  }

  public void putValue(long ordinal, byte[] value) {
    long state = seed(ordinal);
    int offset = 0;
    for (; offset + Long.BYTES <= value.length; offset += Long.BYTES) {
      LONGS.set(value, offset, mix(state));
      state += GOLDEN;
    }
    long last = mix(state);
    for (; offset < value.length; offset++) {
      value[offset] = (byte) last;
      last >>>= Byte.SIZE;
    }
  }

  /** Eight bytes of the value of {@code ordinal} at offset 8 x {@code index}, little-endian. */
  public long word(long ordinal, int index) {
    return mix(seed(ordinal) + index * GOLDEN);
  }

  /** Whether {@code value} equals that of {@link #putValue} for {@code ordinal}. */
  public boolean isValue(long ordinal, byte[] value) {
    if (value.length != valueBytes) {
      return false;
    }
    long state = seed(ordinal);
    int offset = 0;
    for (; offset + Long.BYTES <= value.length; offset += Long.BYTES) {
      if ((long) LONGS.get(value, offset) != mix(state)) {
        return false;
      }
      state += GOLDEN;
    }
    long last = mix(state);
    for (; offset < value.length; offset++) {
      if (value[offset] != (byte) last) {
        return false;
      }
      last >>>= Byte.SIZE;
    }
    return true;
  }

  /** Ordinal at {@code index} of a permutation of all ordinals. */
  public long shuffled(long index) {
    int bits = Math.max(2, Long.SIZE - Long.numberOfLeadingZeros(entryCount - 1));
    long mask = (1L << bits) - 1;
    long ordinal = index;
    do {
      // Each step is a bijection of numbers of that many bits; results past the end are mapped
      // again.
      for (int round = 0; round < 3; round++) {
        ordinal = (ordinal * GOLDEN + bits) & mask;
        ordinal ^= ordinal >>> (bits / 2);
      }
    } while (ordinal >= entryCount);
    return ordinal;
  }

  private long seed(long ordinal) {
    return mix(ordinal * GOLDEN + valueBytes);
  }

  private static long mix(long z) {
    long a = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
    long b = (a ^ (a >>> 27)) * 0x94d049bb133111ebL;
    return b ^ (b >>> 31);
  }

  private static void putDigits(byte[] target, int offset, int count, long number) {
    long rest = number;
    for (int i = offset + count - 1; i >= offset; i--) {
      target[i] = (byte) ('0' + rest % 10);
      rest /= 10;
    }
  }
}
