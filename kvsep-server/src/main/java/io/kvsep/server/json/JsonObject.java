package io.kvsep.server.json;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Builds a JSON object on one line, with members in insertion order. */
public final class JsonObject {
  private final StringBuilder text = new StringBuilder("{");

  public JsonObject put(String name, String value) {
    return raw(name, quoted(value));
  }

  /** Writes {@code null} for a value that is unknown. */
  public JsonObject putNullable(String name, @Nullable String value) {
    return raw(name, value == null ? "null" : quoted(value));
  }

  public JsonObject put(String name, long value) {
    return raw(name, Long.toString(value));
  }

  public JsonObject put(String name, boolean value) {
    return raw(name, Boolean.toString(value));
  }

  /** Writes three decimals. Infinity and NaN are refused, as JSON lacks them. */
  public JsonObject put(String name, double value) {
    if (!Double.isFinite(value)) {
      throw new IllegalArgumentException(name + " is no number: " + value);
    }
    return raw(name, String.format(Locale.ROOT, "%.3f", value));
  }

  public JsonObject put(String name, List<JsonObject> values) {
    return raw(name, values.stream().map(JsonObject::toString).toList().toString());
  }

  public JsonObject putNames(String name, List<String> values) {
    return raw(name, values.stream().map(JsonObject::quoted).toList().toString());
  }

  public JsonObject putNumbers(String name, long[] values) {
    return raw(name, Arrays.toString(values));
  }

  public JsonObject put(String name, JsonObject value) {
    return raw(name, value.toString());
  }

  private JsonObject raw(String name, String value) {
    if (text.length() > 1) {
      text.append(',');
    }
    text.append(quoted(name)).append(':').append(value);
    return this;
  }

  /** Quotes and escapes a string. */
  public static String quoted(String value) {
    StringBuilder quoted = new StringBuilder("\"");
    for (int i = 0; i < value.length(); i++) {
      char character = value.charAt(i);
      if (character == '"' || character == '\\') {
        quoted.append('\\').append(character);
      } else if (character < ' '
          || character == '\u007f'
          || (character >= '\u0080' && character <= '\u009f')
          || character == '\u2028'
          || character == '\u2029'
          || (Character.isSurrogate(character) && !isPaired(value, i))) {
        quoted.append(String.format(Locale.ROOT, "\\u%04x", (int) character));
      } else {
        quoted.append(character);
      }
    }
    return quoted.append('"').toString();
  }

  private static boolean isPaired(String value, int index) {
    return Character.isHighSurrogate(value.charAt(index))
        ? index + 1 < value.length() && Character.isLowSurrogate(value.charAt(index + 1))
        : index > 0 && Character.isHighSurrogate(value.charAt(index - 1));
  }

  /** What was written so far, without the closing brace. */
  String unfinished() {
    return text.toString();
  }

  @Override
  public String toString() {
    return text + "}";
  }
}
