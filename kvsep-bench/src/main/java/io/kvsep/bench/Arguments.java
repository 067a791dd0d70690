package io.kvsep.bench;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The options of one command: {@code --name value}, or {@code --name} alone for a flag. {@link
 * #requireAllUsed} refuses options that the command did not read, so that a misspelt one is not
 * ignored. Not thread safe.
 */
public final class Arguments {
  private final Map<String, String> values = new HashMap<>();
  private final Set<String> unused = new TreeSet<>();

  private Arguments() {}

  public static Arguments parse(List<String> words, Set<String> flags) {
    Arguments arguments = new Arguments();
    int index = 0;
    while (index < words.size()) {
      String word = words.get(index++);
      if (!word.startsWith("--")) {
        throw new UsageException("expected an option, found: " + word);
      }
      String name = word.substring(2);
      String value = "true";
      if (!flags.contains(name)) {
        if (index == words.size()) {
          throw new UsageException(word + " needs a value");
        }
        value = words.get(index++);
      }
      if (arguments.values.put(name, value) != null) {
        throw new UsageException(word + " is given twice");
      }
      arguments.unused.add(name);
    }
    return arguments;
  }

  public boolean flag(String name) {
    return text(name) != null;
  }

  public @Nullable String text(String name) {
    unused.remove(name);
    return values.get(name);
  }

  /** Value of {@code --name}, one of {@code choices}; the first is the default. */
  public String choice(String name, String... choices) {
    String value = text(name);
    if (value == null) {
      return choices[0];
    }
    if (!Arrays.asList(choices).contains(value)) {
      throw new UsageException(
          "--" + name + " must be one of " + String.join(", ", choices) + ": " + value);
    }
    return value;
  }

  /** A number from {@code min} to {@code max}; it may have underscores. */
  public long number(String name, long missing, long min, long max) {
    String value = text(name);
    if (value == null) {
      return missing;
    }
    long number;
    try {
      number = Long.parseLong(value.replace("_", ""));
    } catch (NumberFormatException e) {
      throw new UsageException("--" + name + " must be a number: " + value);
    }
    if (number < min || number > max) {
      throw new UsageException("--" + name + " must be from " + min + " to " + max + ": " + value);
    }
    return number;
  }

  /** A time in seconds with up to three decimals, at most {@code max} seconds. */
  public Duration seconds(String name, long missing, long max) {
    String value = text(name);
    if (value == null) {
      return Duration.ofSeconds(missing);
    }
    long millis;
    try {
      millis = new BigDecimal(value.replace("_", "")).movePointRight(3).longValueExact();
    } catch (NumberFormatException | ArithmeticException e) {
      throw new UsageException("--" + name + " must be a number: " + value);
    }
    if (millis <= 0 || millis > max * 1000) {
      throw new UsageException("--" + name + " must be above 0, up to " + max + ": " + value);
    }
    return Duration.ofMillis(millis);
  }

  public int count(String name, int missing, int min, int max) {
    return Math.toIntExact(number(name, missing, min, max));
  }

  public void requireAllUsed() {
    if (!unused.isEmpty()) {
      throw new UsageException("unknown option: --" + String.join(", --", unused));
    }
  }
}
