package io.kvsep.server;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Between the bytes of keys and values and what people type and read. Text is UTF-8; bytes that are
 * no text, or text that would not stay on its line, are hexadecimal digits behind {@code 0x}. Text
 * that itself begins with {@code 0x} is shown in digits too, so that what is shown is never
 * ambiguous.
 */
final class KeyNotation {
  private static final char UNDECODABLE = '\uFFFD';

  private KeyNotation() {}

  /**
   * The bytes of one argument. What the JVM could not decode when it took the argument over cannot
   * be told apart from other bytes any more, so it is refused rather than stored wrong.
   */
  static byte[] parse(String name, String argument, boolean isHex) {
    if (isHex) {
      String digits = argument.startsWith("0x") ? argument.substring(2) : argument;
      try {
        return HexFormat.of().parseHex(digits);
      } catch (IllegalArgumentException e) {
        throw CommandFailure.misused(
            name + " must be an even number of hexadecimal digits: " + argument);
      }
    }
    if (isLossy(argument, System.getProperty("sun.jnu.encoding", "UTF-8"))) {
      throw CommandFailure.misused(
          name
              + " may hold bytes that the encoding of this locale ("
              + System.getProperty("sun.jnu.encoding")
              + ") cannot carry: set LC_ALL=C.UTF-8, or give it in hexadecimal");
    }
    return argument.getBytes(StandardCharsets.UTF_8);
  }

  /** In an ASCII locale the JVM turns every other byte of an argument into a question mark. */
  static boolean isLossy(String argument, String encoding) {
    boolean isAscii = encoding.equals("ANSI_X3.4-1968") || encoding.equals("US-ASCII");
    return argument.indexOf(UNDECODABLE) >= 0
        || (isAscii && argument.indexOf('?') >= 0)
        || !StandardCharsets.UTF_8.newEncoder().canEncode(argument);
  }

  /** One word that stays on its line. */
  static String show(byte[] bytes) {
    String text = text(bytes);
    boolean isPlain =
        text != null
            && !text.startsWith("0x")
            && text.chars().noneMatch(KeyNotation::isUnprintable);
    return isPlain && text != null ? text : "0x" + HexFormat.of().formatHex(bytes);
  }

  /**
   * For values, which often hold line breaks: text with escapes as in Java, backslashes doubled, or
   * {@code 0x} and digits when it is no text.
   */
  static String showEscaped(byte[] bytes) {
    String text = text(bytes);
    if (text == null) {
      return "0x" + HexFormat.of().formatHex(bytes);
    }
    StringBuilder shown = new StringBuilder();
    for (int i = 0; i < text.length(); i++) {
      char character = text.charAt(i);
      switch (character) {
        case '\\' -> shown.append("\\\\");
        case '\n' -> shown.append("\\n");
        case '\r' -> shown.append("\\r");
        case '\t' -> shown.append("\\t");
        default -> {
          if (isUnprintable(character)) {
            shown.append(String.format(Locale.ROOT, "\\u%04x", (int) character));
          } else {
            shown.append(character);
          }
        }
      }
    }
    return shown.toString();
  }

  /** The bytes as text, null when they are not UTF-8. */
  static @Nullable String text(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** Control and formatting characters would move the cursor of a terminal or break a line. */
  private static boolean isUnprintable(int character) {
    int type = Character.getType(character);
    return Character.isISOControl(character)
        || type == Character.FORMAT
        || type == Character.LINE_SEPARATOR
        || type == Character.PARAGRAPH_SEPARATOR;
  }
}
