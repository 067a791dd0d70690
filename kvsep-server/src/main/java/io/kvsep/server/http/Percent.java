package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.server.json.ByteText;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Decodes parts of a request target: percent-encoded or base64url. */
final class Percent {
  private Percent() {}

  static byte[] decode(String name, String text) {
    return decode(name, text, false);
  }

  /** Whether two hexadecimal digits follow each percent sign. */
  static boolean isWellFormed(String text) {
    for (int at = text.indexOf('%'); at >= 0; at = text.indexOf('%', at + 3)) {
      if (hex(text, at + 1) < 0 || hex(text, at + 2) < 0) {
        return false;
      }
    }
    return true;
  }

  private static int hex(String text, int index) {
    char digit = index < text.length() ? text.charAt(index) : 0;
    // Character.digit also accepts digits of other scripts.
    return digit < 0x80 ? Character.digit(digit, 16) : -1;
  }

  /** Decodes UTF-8. */
  static String text(String name, String encoded) {
    return text(name, decode(name, encoded, false));
  }

  static byte[] base64(String name, String text) {
    try {
      return Base64.getUrlDecoder().decode(text);
    } catch (IllegalArgumentException e) {
      throw Problem.malformed(name + " is not base64url");
    }
  }

  /** The parameters of a query; refuses unknown and repeated ones. */
  static Map<String, byte[]> query(@Nullable String query, Set<String> known) {
    Map<String, byte[]> parameters = new HashMap<>();
    if (query == null || query.isEmpty()) {
      return parameters;
    }
    for (String pair : query.split("&", -1)) {
      int equals = pair.indexOf('=');
      String name =
          text("a parameter", decode("a parameter", equals < 0 ? pair : pair.substring(0, equals)));
      if (!known.contains(name)) {
        throw Problem.malformed("no such parameter: " + ByteText.showEscaped(bytes(name)));
      }
      byte[] value = equals < 0 ? new byte[0] : decode(name, pair.substring(equals + 1), true);
      if (parameters.put(name, value) != null) {
        throw Problem.malformed("parameter " + name + " comes twice");
      }
    }
    return parameters;
  }

  static String text(String name, byte[] bytes) {
    String text = ByteText.text(bytes);
    if (text == null) {
      throw Problem.malformed(name + " is not UTF-8");
    }
    return text;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  /**
   * @param isForm decodes a plus as a space, as in the query of a form
   */
  private static byte[] decode(String name, String text, boolean isForm) {
    byte[] bytes = new byte[text.length()];
    int count = 0;
    for (int i = 0; i < text.length(); i++) {
      char character = text.charAt(i);
      if (character == '%') {
        int high = hex(text, i + 1);
        int low = hex(text, i + 2);
        if (high < 0 || low < 0) {
          throw Problem.malformed(name + " has a % without two hexadecimal digits");
        }
        bytes[count++] = (byte) (high << 4 | low);
        i += 2;
      } else if (character <= ' ' || character >= 0x7f) {
        throw Problem.malformed(name + " has a character that must be percent-encoded");
      } else {
        bytes[count++] = (byte) (isForm && character == '+' ? ' ' : character);
      }
    }
    return count == bytes.length ? bytes : Arrays.copyOf(bytes, count);
  }
}
