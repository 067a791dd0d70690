package io.kvsep.server.redis;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * One operation of BITFIELD on an integer of some bits in a value.
 *
 * @param width bits, up to 64 signed and 63 unsigned
 * @param offset of the first bit
 * @param operand what is stored or added, 0 for GET
 */
record BitField(
    Verb verb, boolean signed, int width, long offset, long operand, Overflow overflow) {
  enum Verb {
    GET,
    SET,
    INCRBY
  }

  /** What happens to a number that does not fit into its bits. */
  enum Overflow {
    /** Stores the lowest bits. */
    WRAP,
    /** Stores the nearest number that fits. */
    SAT,
    /** Stores nothing. */
    FAIL
  }

  boolean writes() {
    return verb != Verb.GET;
  }

  /** Length of the shortest value that holds the field. */
  int bytes() {
    return (int) ((offset + width + 7) >>> 3);
  }

  long in(ByteBuffer value) {
    long number = Bits.number(value, offset, width);
    return signed ? lowest(number) : number;
  }

  /** Runs the operation. Returns the reply, null for none. */
  @Nullable Long apply(ByteBuffer value) {
    long old = in(value);
    if (!writes()) {
      return old;
    }
    Long stored = verb == Verb.SET ? fitting(operand, 0) : fitting(old, operand);
    if (stored == null) {
      return null;
    }
    Bits.setNumber(value, offset, width, stored);
    return verb == Verb.SET ? (Long) old : stored;
  }

  /** Returns the sum as it is to be stored, null if it must not be stored. */
  private @Nullable Long fitting(long first, long second) {
    long max = signed ? Long.MAX_VALUE >>> (64 - width) : (1L << width) - 1;
    long min = signed ? -max - 1 : 0;
    long sum = first + second;
    boolean exceedsLong = ((first ^ sum) & (second ^ sum)) < 0;
    int direction = exceedsLong ? Long.signum(second) : sum > max ? 1 : sum < min ? -1 : 0;
    if (direction < 0 && !signed && verb == Verb.SET) {
      // The operand of an unsigned SET counts as unsigned, so the overflow is upward.
      direction = 1;
    }
    if (direction == 0) {
      return sum;
    }
    return switch (overflow) {
      case WRAP -> lowest(sum);
      case SAT -> direction > 0 ? max : min;
      case FAIL -> null;
    };
  }

  private long lowest(long number) {
    int unused = 64 - width;
    return signed ? number << unused >> unused : number << unused >>> unused;
  }
}
