package io.kvsep.server.json;

import io.kvsep.KvCursor;
import java.util.HexFormat;
import java.util.OptionalLong;

/**
 * An entry as one line of JSON: {@code key}, {@code keyHex} if the key is not UTF-8, {@code
 * valueLength}, {@code value} in base64, {@code expiresAtMillis}. It is available in parts, for
 * values too long for a string.
 */
public final class EntryLine {
  private EntryLine() {}

  /** The entry at the cursor without its value and without a line end. */
  public static String withoutValue(KvCursor cursor) {
    return upToLength(new JsonObject(), cursor) + end(cursor);
  }

  /** Up to and including the length of the value. */
  private static String upToLength(JsonObject line, KvCursor cursor) {
    putKey(line, "key", cursor.key());
    return line.put("valueLength", cursor.valueLength()).unfinished();
  }

  /** Adds the key; if it is not UTF-8, also as {@code name + "Hex"}. */
  static JsonObject putKey(JsonObject line, String name, byte[] key) {
    String text = ByteText.text(key);
    return text != null
        ? line.put(name, text)
        : line.put(name, ByteText.show(key)).put(name + "Hex", HexFormat.of().formatHex(key));
  }

  /**
   * Up to and including the quote before the value, which follows in base64 with a closing quote.
   */
  public static String upToValue(KvCursor cursor) {
    return upToValue("", cursor);
  }

  /**
   * As {@link #upToValue(KvCursor)}, behind the name of the keyspace as {@code keyspace}.
   *
   * @param keyspace empty for the store's own, whose entries do not name it
   */
  public static String upToValue(String keyspace, KvCursor cursor) {
    JsonObject line = new JsonObject();
    if (!keyspace.isEmpty()) {
      line.put("keyspace", keyspace);
    }
    return upToLength(line, cursor) + ",\"value\":\"";
  }

  /** What follows the closing quote. */
  public static String end(KvCursor cursor) {
    OptionalLong expiry = cursor.expiresAtMillis();
    return expiry.isPresent() ? ",\"expiresAtMillis\":" + expiry.getAsLong() + '}' : "}";
  }
}
