package io.kvsep.server.json;

import io.kvsep.KvCursor;
import java.util.Base64;
import java.util.HexFormat;
import java.util.OptionalLong;

/**
 * An entry as one line of JSON: {@code key}, {@code keyHex} when the key is not UTF-8, {@code
 * valueLength}, {@code value} in base64, {@code expiresAtMillis}. It can be had in parts, for
 * values too long for a string.
 */
public final class EntryLine {
  private EntryLine() {}

  /** The line of the entry on which the cursor stands, without a line end. */
  public static String whole(KvCursor cursor, boolean withValue) {
    String value = withValue ? Base64.getEncoder().encodeToString(cursor.value()) : "";
    return (withValue ? upToValue(cursor) + value + '"' : upToLength(cursor)) + end(cursor);
  }

  /** Up to and with the length of the value. */
  private static String upToLength(KvCursor cursor) {
    JsonObject line = putKey(new JsonObject(), "key", cursor.key());
    return line.put("valueLength", cursor.valueLength()).unfinished();
  }

  /** Under a name, and under that with {@code Hex} behind it when the key is not UTF-8. */
  static JsonObject putKey(JsonObject line, String name, byte[] key) {
    String text = ByteText.text(key);
    return text != null
        ? line.put(name, text)
        : line.put(name, ByteText.show(key)).put(name + "Hex", HexFormat.of().formatHex(key));
  }

  /** Up to and with the quote before the value, which is to follow in base64, then a quote. */
  public static String upToValue(KvCursor cursor) {
    return upToLength(cursor) + ",\"value\":\"";
  }

  /** What follows that quote. */
  public static String end(KvCursor cursor) {
    OptionalLong expiry = cursor.expiresAtMillis();
    return expiry.isPresent() ? ",\"expiresAtMillis\":" + expiry.getAsLong() + '}' : "}";
  }
}
