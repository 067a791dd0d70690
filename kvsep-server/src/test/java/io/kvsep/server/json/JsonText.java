package io.kvsep.server.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Reads JSON as RFC 8259 has it and nothing more: no name twice, nothing behind the end. Objects
 * become maps, arrays lists, numbers longs or doubles.
 */
public final class JsonText {
  private static final String NUMBER = "-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?";

  private final String text;
  private int position;

  private JsonText(String text) {
    this.text = text;
  }

  @SuppressWarnings("unchecked") // value() builds objects as exactly this type.
  public static Map<String, Object> object(String text) {
    JsonText reader = new JsonText(text);
    Object value = reader.value();
    reader.skipBlanks();
    if (reader.position != text.length()) {
      throw reader.wrong("text behind the end");
    }
    return (Map<String, Object>) value;
  }

  private Object value() {
    skipBlanks();
    char first = peek();
    if (first == '{') {
      return members();
    } else if (first == '[') {
      return elements();
    } else if (first == '"') {
      return string();
    }
    int start = position;
    while (position < text.length() && ",]} \t\r\n".indexOf(text.charAt(position)) < 0) {
      position++;
    }
    String word = text.substring(start, position);
    if (word.equals("true") || word.equals("false")) {
      return word.equals("true");
    }
    if (!word.matches(NUMBER)) {
      throw wrong("no value: " + word);
    }
    return word.matches("-?[0-9]+") ? (Object) Long.valueOf(word) : Double.valueOf(word);
  }

  private Map<String, Object> members() {
    Map<String, Object> members = new LinkedHashMap<>();
    for (boolean more = opens('}'); more; more = goesOn('}')) {
      skipBlanks();
      String name = string();
      expect(':');
      if (members.put(name, value()) != null) {
        throw wrong("twice: " + name);
      }
    }
    return members;
  }

  private List<Object> elements() {
    List<Object> elements = new ArrayList<>();
    for (boolean more = opens(']'); more; more = goesOn(']')) {
      elements.add(value());
    }
    return elements;
  }

  private boolean opens(char end) {
    position++;
    skipBlanks();
    if (peek() == end) {
      position++;
      return false;
    }
    return true;
  }

  private boolean goesOn(char end) {
    skipBlanks();
    char next = peek();
    position++;
    if (next != end && next != ',') {
      throw wrong("neither comma nor " + end);
    }
    return next == ',';
  }

  private String string() {
    StringBuilder string = new StringBuilder();
    expect('"');
    while (peek() != '"') {
      char next = peek();
      position++;
      if (next < ' ') {
        throw wrong("a bare control character");
      }
      string.append(next == '\\' ? escaped() : next);
    }
    position++;
    return string.toString();
  }

  private char escaped() {
    char kind = peek();
    position++;
    if (kind == 'u') {
      position += 4;
      return (char) Integer.parseInt(text, position - 4, position, 16);
    }
    int index = "\"\\/bfnrt".indexOf(kind);
    if (index < 0) {
      throw wrong("unknown escape " + kind);
    }
    return "\"\\/\b\f\n\r\t".charAt(index);
  }

  private void expect(char expected) {
    skipBlanks();
    if (peek() != expected) {
      throw wrong("no " + expected);
    }
    position++;
  }

  private char peek() {
    if (position >= text.length()) {
      throw wrong("ends too early");
    }
    return text.charAt(position);
  }

  private void skipBlanks() {
    while (position < text.length() && " \t\r\n".indexOf(text.charAt(position)) >= 0) {
      position++;
    }
  }

  private IllegalArgumentException wrong(String problem) {
    return new IllegalArgumentException(problem + " at " + position + " of " + text);
  }
}
