package io.kvsep.server.json;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.HexFormat;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/**
 * Shows bytes of keys and values as text. Bytes that are not UTF-8, or would not stay on one line,
 * are shown as hexadecimal digits after {@code 0x}. Text that begins with {@code 0x} is shown in
 * digits, too, so the output is unambiguous.
 */
public final class ByteText {
  /** A multiple of three, so that only the last piece is padded. */
  private static final int PIECE_BYTES = 3 << 14;

  private ByteText() {}

  /** Shows bytes as one word on one line. */
  public static String show(byte[] bytes) {
    String text = text(bytes);
    boolean isPlain =
        text != null && !text.startsWith("0x") && text.chars().noneMatch(ByteText::isUnprintable);
    return isPlain && text != null ? text : "0x" + HexFormat.of().formatHex(bytes);
  }

  /**
   * Shows a value, which may contain line breaks: text with escapes as in Java and doubled
   * backslashes, or {@code 0x} and digits if it is not text.
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

  /** Writes bytes in base64, piece by piece, and returns how many characters these are. */
  public static long writeBase64(ByteBuffer bytes, OutputStream output) throws IOException {
    long written = 0;
    while (bytes.hasRemaining()) {
      byte[] piece = new byte[Math.min(bytes.remaining(), PIECE_BYTES)];
      bytes.get(piece);
      byte[] text = Base64.getEncoder().encode(piece);
      output.write(text);
      written += text.length;
    }
    return written;
  }

  /** Decodes UTF-8; null if the bytes are not valid. */
  public static @Nullable String text(byte[] bytes) {
    try {
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return null;
    }
  }

  /** Control and formatting characters would move a terminal's cursor or break the line. */
  private static boolean isUnprintable(int character) {
    int type = Character.getType(character);
    return Character.isISOControl(character)
        || type == Character.FORMAT
        || type == Character.LINE_SEPARATOR
        || type == Character.PARAGRAPH_SEPARATOR;
  }
}
