package io.kvsep.bench.compare;

import io.kvsep.bench.Dataset;
import io.kvsep.bench.UsageException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * Entries of a comparison, with values of one length or of two alternating lengths; in that case
 * every key names the first. Immutable, thread safe.
 */
final class Entries {
  private static final VarHandle LONGS =
      MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final int VALUE_BYTES_MAX = 1 << 30;

  private final Dataset even;
  private final Dataset odd;

  private Entries(Dataset even, Dataset odd) {
    this.even = even;
    this.odd = odd;
  }

  /**
   * @param valueBytes a length, or two with a slash between
   */
  static Entries of(long count, String valueBytes) {
    String[] lengths = valueBytes.split("/", -1);
    if (lengths.length > 2) {
      throw new UsageException("--value-bytes is a length, or two with a slash: " + valueBytes);
    }
    return new Entries(
        new Dataset(count, length(lengths[0])),
        new Dataset(count, length(lengths[lengths.length - 1])));
  }

  private static int length(String word) {
    try {
      int length = Integer.parseInt(word);
      if (length >= 0 && length <= VALUE_BYTES_MAX) {
        return length;
      }
    } catch (NumberFormatException e) {
      throw new UsageException("--value-bytes must be a number: " + word);
    }
    throw new UsageException("--value-bytes must be from 0 to " + VALUE_BYTES_MAX + ": " + word);
  }

  long count() {
    return even.entryCount();
  }

  long rawBytes() {
    long evens = (count() + 1) / 2;
    return evens * (Dataset.KEY_BYTES + even.valueBytes())
        + (count() - evens) * (Dataset.KEY_BYTES + odd.valueBytes());
  }

  int valueBytesMax() {
    return Math.max(even.valueBytes(), odd.valueBytes());
  }

  int valueBytes(long ordinal) {
    return of(ordinal).valueBytes();
  }

  byte[] newKey() {
    return even.newKey();
  }

  void putKey(long ordinal, byte[] key) {
    even.putKey(ordinal, key);
  }

  void putAbsentKey(long ordinal, byte[] key) {
    even.putAbsentKey(ordinal, key);
  }

  long shuffled(long index) {
    return even.shuffled(index);
  }

  /** Creates the values of one thread in reused arrays. */
  Values values() {
    return new Values();
  }

  /**
   * As {@link #matches(long, byte[], int)}, but checks only the length and the last byte, like the
   * Go program does in scans.
   */
  boolean endsRight(long ordinal, byte[] bytes, int length) {
    Dataset dataset = of(ordinal);
    if (length != dataset.valueBytes() || bytes.length < length) {
      return false;
    }
    int words = length / Long.BYTES;
    return words == 0
        || length % Long.BYTES != 0
        || bytes[length - 1] == (byte) (dataset.word(ordinal, words - 1) >>> 56);
  }

  /** Whether length, first and last eight bytes match the value of {@code ordinal}. */
  boolean matches(long ordinal, byte[] bytes, int length) {
    Dataset dataset = of(ordinal);
    int words = length / Long.BYTES;
    if (length != dataset.valueBytes() || bytes.length < length) {
      return false;
    }
    if (words > 0
        && ((long) LONGS.get(bytes, 0) != dataset.word(ordinal, 0)
            || (long) LONGS.get(bytes, (words - 1) * Long.BYTES)
                != dataset.word(ordinal, words - 1))) {
      return false;
    }
    long last = dataset.word(ordinal, words);
    for (int offset = words * Long.BYTES; offset < length; offset++) {
      if (bytes[offset] != (byte) last) {
        return false;
      }
      last >>>= Byte.SIZE;
    }
    return true;
  }

  /** As above, for the rest of a buffer. */
  boolean matches(long ordinal, ByteBuffer view) {
    Dataset dataset = of(ordinal);
    int length = view.remaining();
    int start = view.position();
    int words = length / Long.BYTES;
    if (length != dataset.valueBytes()) {
      return false;
    }
    if (words > 0
        && (word(view, start) != dataset.word(ordinal, 0)
            || word(view, start + (words - 1) * Long.BYTES) != dataset.word(ordinal, words - 1))) {
      return false;
    }
    long last = dataset.word(ordinal, words);
    for (int offset = words * Long.BYTES; offset < length; offset++) {
      if (view.get(start + offset) != (byte) last) {
        return false;
      }
      last >>>= Byte.SIZE;
    }
    return true;
  }

  private static long word(ByteBuffer view, int offset) {
    long word = view.getLong(offset);
    return view.order() == ByteOrder.LITTLE_ENDIAN ? word : Long.reverseBytes(word);
  }

  private Dataset of(long ordinal) {
    return (ordinal & 1) == 0 ? even : odd;
  }

  /** Not thread safe. */
  final class Values {
    private final byte[] evens = new byte[even.valueBytes()];
    private final byte[] odds =
        odd.valueBytes() == even.valueBytes() ? evens : new byte[odd.valueBytes()];

    private Values() {}

    /** The value of {@code ordinal}, valid until the next call. */
    byte[] of(long ordinal) {
      byte[] value = (ordinal & 1) == 0 ? evens : odds;
      Entries.this.of(ordinal).putValue(ordinal, value);
      return value;
    }
  }
}
