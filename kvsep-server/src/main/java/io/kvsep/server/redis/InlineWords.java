package io.kvsep.server.redis;

import java.io.ByteArrayOutputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Splits an inline command into words at blanks. Words may have single quotes, or double quotes
 * with the escapes of Redis.
 */
final class InlineWords {
  private final byte[] line;
  private final int length;
  private int at;

  private InlineWords(byte[] line, int length) {
    this.line = line;
    this.length = length;
  }

  static List<byte[]> split(byte[] line, int length) throws ProtocolException {
    InlineWords words = new InlineWords(line, length);
    List<byte[]> found = new ArrayList<>();
    while (words.skipBlanks()) {
      found.add(words.word());
    }
    return found;
  }

  private boolean skipBlanks() {
    while (at < length && isBlank(line[at])) {
      at++;
    }
    return at < length;
  }

  private byte[] word() throws ProtocolException {
    ByteArrayOutputStream word = new ByteArrayOutputStream();
    while (at < length && !isBlank(line[at])) {
      byte c = line[at++];
      if (c == '"') {
        doubleQuoted(word);
        requireBlank();
      } else if (c == '\'') {
        singleQuoted(word);
        requireBlank();
      } else {
        word.write(c);
      }
    }
    return word.toByteArray();
  }

  private void doubleQuoted(ByteArrayOutputStream word) throws ProtocolException {
    while (at < length && line[at] != '"') {
      byte c = line[at++];
      if (c != '\\' || at == length) {
        word.write(c);
      } else if (line[at] == 'x' && length - at > 2 && hex(at + 1) >= 0 && hex(at + 2) >= 0) {
        word.write(16 * hex(at + 1) + hex(at + 2));
        at += 3;
      } else {
        word.write(escaped(line[at++]));
      }
    }
    closeQuote();
  }

  private void singleQuoted(ByteArrayOutputStream word) throws ProtocolException {
    while (at < length && line[at] != '\'') {
      if (line[at] == '\\' && length - at > 1 && line[at + 1] == '\'') {
        at++;
      }
      word.write(line[at++]);
    }
    closeQuote();
  }

  private void closeQuote() throws ProtocolException {
    if (at == length) {
      throw unbalanced();
    }
    at++;
  }

  private void requireBlank() throws ProtocolException {
    if (at < length && !isBlank(line[at])) {
      throw unbalanced();
    }
  }

  private int hex(int index) {
    return Character.digit(line[index], 16);
  }

  private static int escaped(byte c) {
    return switch (c) {
      case 'n' -> '\n';
      case 'r' -> '\r';
      case 't' -> '\t';
      case 'b' -> '\b';
      case 'a' -> 7;
      default -> c;
    };
  }

  private static boolean isBlank(byte c) {
    return c == ' ' || (c >= '\t' && c <= '\r') || c == 0;
  }

  private static ProtocolException unbalanced() {
    return new ProtocolException("unbalanced quotes in request");
  }
}
