package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Parameters of a query. Errors name the parameter. */
final class Parameters {
  private final Map<String, byte[]> values;

  private Parameters(Map<String, byte[]> values) {
    this.values = values;
  }

  /** Refuses unknown and repeated parameters. */
  static Parameters of(@Nullable String query, Set<String> known) {
    return new Parameters(Percent.query(query, known));
  }

  /** Percent-encoded, or base64url under the same name with suffix 64; null if absent. */
  byte @Nullable [] bytes(String name) {
    byte[] plain = values.get(name);
    byte[] decoded = encoded(name + "64");
    if (plain != null && decoded != null) {
      throw Problem.malformed(name + " and " + name + "64 say the same thing");
    }
    return decoded == null ? checked(name, plain) : decoded;
  }

  /** In base64url; null if absent. */
  byte @Nullable [] encoded(String name) {
    byte[] text = values.get(name);
    return checked(name, text == null ? null : Percent.base64(name, new String(text, UTF_8)));
  }

  private static byte @Nullable [] checked(String name, byte @Nullable [] bytes) {
    if (bytes != null && bytes.length > Exchange.KEY_BYTES_MAX) {
      throw Problem.tooLarge(name + " is longer than any key");
    }
    return bytes;
  }

  /** True if present, unless its value is false. */
  boolean flag(String name) {
    byte[] value = values.get(name);
    String text = value == null ? "false" : new String(value, UTF_8);
    return switch (text) {
      case "", "true" -> true;
      case "false" -> false;
      default -> throw Problem.malformed(name + " is true or false");
    };
  }

  /** An integer; null if absent. */
  @Nullable Long whole(String name) {
    byte[] value = values.get(name);
    if (value == null) {
      return null;
    }
    try {
      return Long.valueOf(new String(value, UTF_8));
    } catch (NumberFormatException e) {
      throw Problem.malformed(name + " is no whole number");
    }
  }
}
