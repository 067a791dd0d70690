package io.kvsep.server.json;

import io.kvsep.Change;

/**
 * A change as one line of JSON: {@code sequence}, {@code kind}, {@code keyspaceId}, {@code
 * keyspace} if it has a name, {@code more}; then the {@code key}, or {@code from} and {@code to} of
 * a range; for a put {@code valueLength}, {@code expiresAtMillis} and {@code value} in base64. The
 * value comes last, so that it can be written in parts.
 */
public final class ChangeLine {
  /** What follows the value. */
  public static final String END = "\"}";

  private ChangeLine() {}

  /**
   * Everything except the value.
   *
   * @param more whether more of the same commit follows
   */
  public static String withoutValue(Change change, boolean more) {
    return line(change, more).toString();
  }

  /** A put up to and including the quote before the value, which follows in base64. */
  public static String upToValue(Change change, boolean more) {
    return line(change, more).unfinished() + ",\"value\":\"";
  }

  private static JsonObject line(Change change, boolean more) {
    JsonObject line =
        new JsonObject()
            .put("sequence", change.sequence())
            .put("kind", kind(change.kind()))
            .put("keyspaceId", change.keyspaceId());
    String keyspace = change.keyspace();
    if (keyspace != null) {
      line.put("keyspace", keyspace);
    }
    line.put("more", more);
    if (change.kind() == Change.Kind.DELETE_RANGE) {
      EntryLine.putKey(line, "from", change.key());
      byte[] to = change.toKey();
      return to == null ? line : EntryLine.putKey(line, "to", to);
    }
    EntryLine.putKey(line, "key", change.key());
    if (change.kind() == Change.Kind.PUT) {
      line.put("valueLength", change.value().length);
      change.expiresAtMillis().ifPresent(end -> line.put("expiresAtMillis", end));
    }
    return line;
  }

  /** The names used in batches. */
  private static String kind(Change.Kind kind) {
    return switch (kind) {
      case PUT -> "put";
      case DELETE -> "delete";
      case DELETE_RANGE -> "deleteRange";
    };
  }
}
