package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.StreamReadFeature;
import java.io.CharConversionException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * A JSON object of a request whose members are strings, integers or booleans. Unknown members are
 * errors. A short object takes about fifty times its bytes in memory, so objects are handed over
 * one by one as they are parsed, including those in lists of the body's object.
 */
final class Document {
  private static final int DEPTH_MAX = 8;

  /** More than any object here needs; each member takes about ten times its bytes. */
  private static final int MEMBERS_MAX = 16;

  /**
   * More than any member here needs. The parser caches thousands of names across bodies, so names
   * must be short. Strings such as keys are not cached.
   */
  private static final int NAME_BYTES_MAX = 64;

  /**
   * Characters of one object that are not reserved: they add up to little, with at most 64 threads.
   */
  private static final int LIGHT_CHARS_MAX = 64 << 10;

  /** Bytes per character while it is read: the parser's buffer, the string, the decoded bytes. */
  private static final int CHAR_WEIGHT = 8;

  private static final JsonFactory JSON =
      JsonFactory.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .streamReadConstraints(
              StreamReadConstraints.builder()
                  .maxNestingDepth(DEPTH_MAX)
                  .maxNameLength(NAME_BYTES_MAX)
                  .maxStringLength(Integer.MAX_VALUE - 8)
                  .build())
          .build();

  private final Map<String, Object> members;
  private final String where;

  private Document(Map<String, Object> members, String where) {
    this.members = members;
    this.where = where;
  }

  /** The body is exactly one object. */
  static Document one(Exchange exchange) {
    return one(exchange, Map.of());
  }

  /**
   * The body is exactly one object.
   *
   * @param takers receive the objects in lists, by the list's name; these lists are not members of
   *     the document
   */
  static Document one(Exchange exchange, Map<String, Consumer<Document>> takers) {
    List<Document> found = new ArrayList<>(1);
    int count =
        new Reader(exchange, takers)
            .read(
                document -> {
                  if (found.isEmpty()) {
                    found.add(document);
                  }
                });
    if (count != 1) {
      throw Problem.malformed("the body is not one JSON object");
    }
    return found.get(0);
  }

  /**
   * Hands over all objects of the body, which are concatenated, such as JSON lines, or in one
   * array. Returns their number.
   */
  static int each(Exchange exchange, Consumer<Document> taker) {
    return new Reader(exchange, Map.of()).read(taker);
  }

  private static final class Reader {
    private final Exchange exchange;
    private final Map<String, Consumer<Document>> takers;

    /** Characters in the strings of the current object. */
    private int chars;

    /** Most characters of any object so far; memory for these is reserved. */
    private int weighedChars = LIGHT_CHARS_MAX;

    Reader(Exchange exchange, Map<String, Consumer<Document>> takers) {
      this.exchange = exchange;
      this.takers = takers;
    }

    int read(Consumer<Document> taker) {
      try (JsonParser parser = JSON.createParser(exchange.body())) {
        JsonToken token = parser.nextToken();
        boolean isArray = token == JsonToken.START_ARRAY;
        token = isArray ? parser.nextToken() : token;
        int count = 0;
        while (token != null && token != JsonToken.END_ARRAY) {
          count++;
          taker.accept(new Document(members(parser, token, takers), "object " + count));
          token = parser.nextToken();
        }
        if (isArray && (token == null || parser.nextToken() != null)) {
          throw Problem.malformed("the array is not closed, or something follows it");
        }
        if (!isArray && token != null) {
          throw Problem.malformed("the body is no JSON");
        }
        return count;
      } catch (JsonProcessingException e) {
        throw Problem.malformed("the body is no JSON that is taken: " + e.getOriginalMessage());
      } catch (CharConversionException e) {
        // The parser took the body for UTF-16 or UTF-32 by its first bytes.
        throw Problem.malformed("the body is no JSON that is taken: " + e.getMessage());
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    private Map<String, Object> members(
        JsonParser parser, JsonToken first, Map<String, Consumer<Document>> lists)
        throws IOException {
      if (first != JsonToken.START_OBJECT) {
        throw Problem.malformed("no JSON object where one should be");
      }
      chars = 0;
      Map<String, Object> members = new HashMap<>();
      while (parser.nextToken() == JsonToken.FIELD_NAME) {
        String name = parser.currentName();
        Consumer<Document> taker = lists.get(name);
        if (taker != null) {
          handOver(parser, name, taker);
        } else if (members.size() == MEMBERS_MAX) {
          throw Problem.malformed("an object has more than " + MEMBERS_MAX + " members");
        } else {
          members.put(name, value(parser, parser.nextToken(), name));
        }
      }
      return members;
    }

    private void handOver(JsonParser parser, String name, Consumer<Document> taker)
        throws IOException {
      if (parser.nextToken() != JsonToken.START_ARRAY) {
        throw Problem.malformed("\"" + name + "\" is not a list of objects");
      }
      JsonToken token = parser.nextToken();
      for (int i = 0; token != JsonToken.END_ARRAY; i++) {
        taker.accept(new Document(members(parser, token, Map.of()), name + "[" + i + "]"));
        token = parser.nextToken();
      }
    }

    private Object value(JsonParser parser, JsonToken token, String name) throws IOException {
      return switch (token) {
        case VALUE_STRING -> text(parser);
        case VALUE_TRUE -> true;
        case VALUE_FALSE -> false;
        case VALUE_NUMBER_INT -> {
          if (parser.getNumberType() == JsonParser.NumberType.BIG_INTEGER) {
            throw Problem.malformed(name + " does not fit into 64 bits");
          }
          yield parser.getLongValue();
        }
        default -> throw Problem.malformed(name + " is of a kind that has no meaning here");
      };
    }

    private String text(JsonParser parser) throws IOException {
      chars += parser.getTextLength();
      if (chars > weighedChars) {
        exchange.reserve((long) CHAR_WEIGHT * (chars - weighedChars));
        weighedChars = chars;
      }
      return parser.getText();
    }
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

  /** The bytes of {@code name} given as text, or with suffix {@code Hex} or {@code Base64}. */
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
