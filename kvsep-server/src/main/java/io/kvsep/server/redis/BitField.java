package io.kvsep.server.redis;

import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * One part of BITFIELD: a number of some bits in a value, and what becomes of it.
 *
 * @param width bits, up to 64 with a sign and 63 without
 * @param offset of the first bit
 * @param operand what is stored or added, 0 for GET
 */
record BitField(
    Verb verb, boolean signed, int width, long offset, long operand, Overflow overflow) {
  /** What is done. */
  enum Verb {
    GET,
    SET,
    INCRBY
  }

  /** What becomes of a number that its bits cannot hold. */
  enum Overflow {
    /** Its lowest bits are stored. */
    WRAP,
    /** The nearest number is stored. */
    SAT,
    /** Nothing is stored. */
    FAIL
  }

  boolean writes() {
    return verb != Verb.GET;
  }

  /** Bytes that a value has at least which holds it. */
  int bytes() {
    return (int) ((offset + width + 7) >>> 3);
  }

  /** The number as it is in a value. */
  long in(ByteBuffer value) {
    long number = Bits.number(value, offset, width);
    return signed ? lowest(number) : number;
  }

  /** Does it; the number that is the reply, null for none. */
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

  /** The sum as it can be stored, null when it must not be. */
  private @Nullable Long fitting(long first, long second) {
    long max = signed ? Long.MAX_VALUE >>> (64 - width) : (1L << width) - 1;
    long min = signed ? -max - 1 : 0;
    long sum = first + second;
    boolean exceedsLong = ((first ^ sum) & (second ^ sum)) < 0;
    int direction = exceedsLong ? Long.signum(second) : sum > max ? 1 : sum < min ? -1 : 0;
    if (direction < 0 && !signed && verb == Verb.SET) {
      // A number to store in a field without a sign has none either.
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
