package io.kvsep.server.redis;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Arrays;

/** Parses and formats numbers as Redis does. */
final class Numbers {
  /** Decimal places that Redis keeps of a float. */
  private static final int FLOAT_SCALE = 17;

  /** About the range of an 80-bit float, which Redis computes with. */
  private static final int FLOAT_EXPONENT_MAX = 4932;

  private static final int FLOAT_EXPONENT_MIN = -4950;

  private static final int FLOAT_LENGTH_MAX = 5 << 10;

  private static final byte[] SMALLEST = "-9223372036854775808".getBytes(ISO_8859_1);

  private Numbers() {}

  static byte[] text(long value) {
    return Long.toString(value).getBytes(ISO_8859_1);
  }

  /** Parses a signed 64-bit number: digits with an optional minus, without leading zeros. */
  static long integer(byte[] text) {
    long value = parse(text, 0, text.length, Long.MIN_VALUE);
    if (value == Long.MIN_VALUE && !Arrays.equals(text, SMALLEST)) {
      throw CommandError.notAnInteger();
    }
    return value;
  }

  static boolean isInteger(byte[] text) {
    return parse(text, 0, text.length, Long.MIN_VALUE) != Long.MIN_VALUE
        || Arrays.equals(text, SMALLEST);
  }

  /** Parses the number between two indexes; {@code none} if there is none or it is too large. */
  static long parse(byte[] text, int from, int to, long none) {
    int at = from;
    boolean negative = at < to && text[at] == '-';
    if (negative) {
      at++;
    }
    int digits = to - at;
    if (digits <= 0 || digits > 19) {
      return none;
    }
    if (text[at] == '0') {
      return digits == 1 && !negative ? 0 : none;
    }
    long value = 0;
    for (; at < to; at++) {
      int digit = text[at] - '0';
      if (digit < 0 || digit > 9 || value < (Long.MIN_VALUE + digit) / 10) {
        return none;
      }
      value = value * 10 - digit;
    }
    if (!negative && value == Long.MIN_VALUE) {
      return none;
    }
    return negative ? value : -value;
  }

  static BigDecimal decimal(byte[] text) {
    if (text.length == 0 || text.length > FLOAT_LENGTH_MAX) {
      throw notAFloat();
    }
    String chars = new String(text, ISO_8859_1);
    String unsigned = chars.startsWith("-") || chars.startsWith("+") ? chars.substring(1) : chars;
    if (unsigned.equalsIgnoreCase("inf") || unsigned.equalsIgnoreCase("infinity")) {
      throw infinite();
    }
    BigDecimal value;
    try {
      value = new BigDecimal(chars);
    } catch (NumberFormatException e) {
      throw notAFloat();
    }
    if (isTooLarge(value) || (value.signum() != 0 && exponent(value) < FLOAT_EXPONENT_MIN)) {
      throw notAFloat();
    }
    return bounded(value);
  }

  static BigDecimal sum(BigDecimal first, BigDecimal second) {
    BigDecimal sum = first.add(second);
    if (isTooLarge(sum)) {
      throw infinite();
    }
    return bounded(sum);
  }

  static String text(BigDecimal value) {
    BigDecimal rounded = value.setScale(FLOAT_SCALE, RoundingMode.HALF_EVEN);
    return rounded.signum() == 0 ? "0" : rounded.stripTrailingZeros().toPlainString();
  }

  private static boolean isTooLarge(BigDecimal value) {
    return value.signum() != 0 && exponent(value) > FLOAT_EXPONENT_MAX;
  }

  private static long exponent(BigDecimal value) {
    return (long) value.precision() - value.scale();
  }

  /** Replaces a number finer than Redis keeps by 0, so that numbers stay short. */
  private static BigDecimal bounded(BigDecimal value) {
    boolean isFiner = value.signum() == 0 || exponent(value) < -FLOAT_SCALE - 1;
    return isFiner ? BigDecimal.ZERO : value;
  }

  private static CommandError notAFloat() {
    return new CommandError("ERR value is not a valid float");
  }

  private static CommandError infinite() {
    return new CommandError("ERR increment would produce NaN or Infinity");
  }
}
