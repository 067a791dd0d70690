package io.kvsep.server.json;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Bytes of keys and values as people read them. Text is UTF-8; bytes that are no text, or text that
 * would not stay on its line, are hexadecimal digits behind {@code 0x}. Text that itself begins
 * with {@code 0x} is shown in digits too, so that what is shown is never ambiguous.
 */
public final class ByteText {
  private ByteText() {}

  /** One word that stays on its line. */
  public static String show(byte[] bytes) {
    String text = text(bytes);
    boolean isPlain =
        text != null && !text.startsWith("0x") && text.chars().noneMatch(ByteText::isUnprintable);
    return isPlain && text != null ? text : "0x" + HexFormat.of().formatHex(bytes);
  }

  /**
   * For values, which often hold line breaks: text with escapes as in Java, backslashes doubled, or
   * {@code 0x} and digits when it is no text.
   */
  public static String showEscaped(byte[] bytes) {
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
  public static @Nullable String text(byte[] bytes) {
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
