package io.kvsep.server.cli;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Splits a line into words at blanks. Single quotation marks take everything between them as it is;
 * double ones too, except for a backslash before a double quotation mark or a backslash. Outside of
 * them a backslash takes the next character as it is. A line that begins with # has no words.
 */
final class ShellWords {
  private final String line;
  private final List<String> words = new ArrayList<>();
  private int at;

  private ShellWords(String line) {
    this.line = line;
  }

  /** Null if a quotation mark is not closed. */
  static @Nullable List<String> split(String line) {
    ShellWords words = new ShellWords(line);
    return line.stripLeading().startsWith("#") || words.readAll() ? words.words : null;
  }

  private boolean readAll() {
    while (true) {
      while (at < line.length() && Character.isWhitespace(line.charAt(at))) {
        at++;
      }
      if (at == line.length()) {
        return true;
      }
      StringBuilder word = new StringBuilder();
      if (!read(word)) {
        return false;
      }
      words.add(word.toString());
    }
  }

  private boolean read(StringBuilder word) {
    while (at < line.length() && !Character.isWhitespace(line.charAt(at))) {
      char next = line.charAt(at++);
      if (next == '\'' || next == '"') {
        if (!readQuoted(word, next)) {
          return false;
        }
      } else if (next == '\\' && at < line.length()) {
        word.append(line.charAt(at++));
      } else {
        word.append(next);
      }
    }
    return true;
  }

  private boolean readQuoted(StringBuilder word, char mark) {
    while (at < line.length()) {
      char next = line.charAt(at++);
      if (next == mark) {
        return true;
      }
      boolean escapes = mark == '"' && next == '\\' && at < line.length();
      if (escapes && (line.charAt(at) == '"' || line.charAt(at) == '\\')) {
        next = line.charAt(at++);
      }
      word.append(next);
    }
    return false;
  }
}
