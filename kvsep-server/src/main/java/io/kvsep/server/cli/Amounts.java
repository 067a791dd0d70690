package io.kvsep.server.cli;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;

/** Parses and formats amounts of bytes and of time. */
final class Amounts {
  private static final Pattern BYTES = Pattern.compile("(\\d{1,18})([kmgt]?)(i?b)?");
  private static final Pattern TIME = Pattern.compile("(\\d{1,12})(ms|s|m|h|d)");

  private Amounts() {}

  /** {@code 1500}, {@code 64k}, {@code 512m}, {@code 2g}; the letters are powers of 1,024. */
  static final class ByteCount implements ITypeConverter<Long> {
    @Override
    public Long convert(String text) {
      Matcher matcher = BYTES.matcher(text.toLowerCase(Locale.ROOT));
      if (!matcher.matches()) {
        throw new TypeConversionException("'" + text + "' is no amount such as 500k, 512m or 2g");
      }
      int shift = 10 * (1 + "kmgt".indexOf(matcher.group(2)));
      if (matcher.group(2).isEmpty()) {
        shift = 0;
      }
      long count = Long.parseLong(matcher.group(1));
      if (count > Long.MAX_VALUE >> shift) {
        throw new TypeConversionException("'" + text + "' is too much");
      }
      return count << shift;
    }
  }

  /** {@code 10s}, {@code 5m}, {@code 2h}, {@code 1d}, {@code 250ms} or ISO-8601 such as PT90S. */
  static final class TimeToLive implements ITypeConverter<Duration> {
    @Override
    public Duration convert(String text) {
      Duration duration = parse(text);
      if (duration.isZero() || duration.isNegative()) {
        throw new TypeConversionException("'" + text + "' is not a positive time");
      }
      return duration;
    }

    private static Duration parse(String text) {
      Matcher matcher = TIME.matcher(text.toLowerCase(Locale.ROOT));
      try {
        if (!matcher.matches()) {
          return Duration.parse(text);
        }
        long amount = Long.parseLong(matcher.group(1));
        return switch (matcher.group(2)) {
          case "ms" -> Duration.ofMillis(amount);
          case "s" -> Duration.ofSeconds(amount);
          case "m" -> Duration.ofMinutes(amount);
          case "h" -> Duration.ofHours(amount);
          default -> Duration.ofDays(amount);
        };
      } catch (DateTimeParseException e) {
        throw new TypeConversionException(
            "'" + text + "' is no time such as 10s, 5m, 2h, 1d or PT90S");
      }
    }
  }

  /** In decimal units: {@code 812 B}, {@code 1.3 MB}, {@code 20.5 GB}. */
  static String bytes(long count) {
    if (count < 1000) {
      return count + " B";
    }
    double amount = count;
    int unit = -1;
    while (amount >= 999.95) {
      amount /= 1000;
      unit++;
    }
    return String.format(Locale.ROOT, "%.1f %sB", amount, "kMGTPE".charAt(unit));
  }

  static String count(long count) {
    return String.format(Locale.ROOT, "%,d", count);
  }

  static double seconds(long nanos) {
    return nanos / 1e9;
  }

  static double megabytesPerSecond(long bytes, long nanos) {
    return nanos <= 0 ? 0 : bytes / 1e6 / seconds(nanos);
  }

  /** {@code 1 file}, {@code 2 files}. */
  static String of(long count, String noun) {
    return count(count) + " " + noun + (count == 1 ? "" : "s");
  }
}
