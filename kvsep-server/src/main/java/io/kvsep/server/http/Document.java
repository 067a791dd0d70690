package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * JSON of a request, read by a parser alone: objects whose members are text, whole numbers, true or
 * false, and lists of such objects. Every member has to be one that is known.
 */
final class Document {
  private static final int DEPTH_MAX = 8;
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(DEPTH_MAX)
                  .maxStringLength(Integer.MAX_VALUE - 8)
                  .build())
          .build();

  private final Map<String, Object> members;
  private final String where;

  private Document(Map<String, Object> members, String where) {
    this.members = members;
    this.where = where;
  }

  /** The one object that the body is. */
  static Document one(byte[] body) {
    List<Document> all = many(body);
    if (all.size() != 1) {
      throw Problem.malformed("the body is not one JSON object");
    }
    return all.get(0);
  }

  /** All objects of the body: one behind the other, such as JSON lines, or in one array. */
  static List<Document> many(byte[] body) {
    try (JsonParser parser = JSON.createParser(body)) {
      List<Document> all = new ArrayList<>();
      JsonToken token = parser.nextToken();
      boolean isArray = token == JsonToken.START_ARRAY;
      token = isArray ? parser.nextToken() : token;
      while (token != null && token != JsonToken.END_ARRAY) {
        all.add(new Document(members(parser, token), "object " + (all.size() + 1)));
        token = parser.nextToken();
      }
      if (isArray && (token == null || parser.nextToken() != null)) {
        throw Problem.malformed("the array is not closed, or something follows it");
      }
      if (!isArray && token != null) {
        throw Problem.malformed("the body is no JSON");
      }
      return all;
    } catch (JsonProcessingException e) {
      throw Problem.malformed("the body is no JSON that is taken: " + e.getOriginalMessage());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Map<String, Object> members(JsonParser parser, JsonToken first)
      throws IOException {
    if (first != JsonToken.START_OBJECT) {
      throw Problem.malformed("no JSON object where one should be");
    }
    Map<String, Object> members = new HashMap<>();
    while (parser.nextToken() == JsonToken.FIELD_NAME) {
      String name = parser.currentName();
      members.put(name, value(parser, parser.nextToken(), name));
    }
    return members;
  }

  private static Object value(JsonParser parser, JsonToken token, String name) throws IOException {
    return switch (token) {
      case VALUE_STRING -> parser.getText();
      case VALUE_TRUE -> true;
      case VALUE_FALSE -> false;
      case VALUE_NUMBER_INT -> {
        if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
          throw Problem.malformed(name + " does not fit into 64 bits");
        }
        yield parser.getLongValue();
      }
      case START_ARRAY -> {
        List<Document> elements = new ArrayList<>();
        JsonToken next = parser.nextToken();
        while (next != JsonToken.END_ARRAY) {
          String where = name + "[" + elements.size() + "]";
          elements.add(new Document(members(parser, next), where));
          next = parser.nextToken();
        }
        yield elements;
      }
      default -> throw Problem.malformed(name + " is of a kind that has no meaning here");
    };
  }

  void allow(Set<String> names) {
    for (String name : members.keySet()) {
      if (!names.contains(name)) {
        throw wrong("nothing is known of \"" + name + "\"");
      }
    }
  }

  @Nullable String text(String name) {
    return member(name, String.class, "text");
  }

  String requiredText(String name) {
    String text = text(name);
    if (text == null) {
      throw wrong("\"" + name + "\" is missing");
    }
    return text;
  }

  @Nullable Long whole(String name) {
    return member(name, Long.class, "a whole number");
  }

  boolean flag(String name) {
    return Boolean.TRUE.equals(member(name, Boolean.class, "true or false"));
  }

  @SuppressWarnings("unchecked") // value() makes lists of documents and no others.
  List<Document> list(String name) {
    List<?> list = member(name, List.class, "a list of objects");
    return list == null ? List.of() : (List<Document>) list;
  }

  boolean has(String name) {
    return members.containsKey(name);
  }

  /** The bytes of {@code name}, as text, or under it with Hex or Base64 behind. */
  byte[] bytes(String name) {
    String text = text(name);
    String hex = text(name + "Hex");
    String base64 = text(name + "Base64");
    if ((text == null ? 0 : 1) + (hex == null ? 0 : 1) + (base64 == null ? 0 : 1) != 1) {
      throw wrong("one of " + name + ", " + name + "Hex and " + name + "Base64 is wanted");
    }
    try {
      if (hex != null) {
        return HexFormat.of().parseHex(hex);
      } else if (base64 != null) {
        boolean isUrl = base64.indexOf('-') >= 0 || base64.indexOf('_') >= 0;
        return (isUrl ? Base64.getUrlDecoder() : Base64.getDecoder()).decode(base64);
      }
    } catch (IllegalArgumentException e) {
      throw wrong(name + (hex != null ? " is no hexadecimal" : " is no base64"));
    }
    if (text == null || !UTF_8.newEncoder().canEncode(text)) {
      throw wrong(name + " is no text: half of a surrogate pair");
    }
    return text.getBytes(UTF_8);
  }

  byte[] key() {
    return Exchange.checked(bytes("key"));
  }

  Problem wrong(String what) {
    return Problem.malformed(where + ": " + what);
  }

  private <T> @Nullable T member(String name, Class<T> type, String what) {
    Object value = members.get(name);
    if (value == null) {
      return null;
    }
    if (!type.isInstance(value)) {
      throw wrong("\"" + name + "\" is not " + what);
    }
    return type.cast(value);
  }
}
