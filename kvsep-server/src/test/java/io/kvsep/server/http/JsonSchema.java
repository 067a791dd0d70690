package io.kvsep.server.http;

import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Holds values to schemas of the OpenAPI document, as far as it uses JSON Schema. */
final class JsonSchema {
  private static final Set<String> ANNOTATIONS =
      Set.of("description", "format", "default", "contentEncoding", "discriminator");

  private JsonSchema() {}

  static boolean allows(Map<String, Object> schema, Object value) {
    for (String keyword : schema.keySet()) {
      if (!ANNOTATIONS.contains(keyword) && !holds(schema, keyword, value)) {
        return false;
      }
    }
    return true;
  }

  private static boolean holds(Map<String, Object> schema, String keyword, Object value) {
    @Nullable Object rule = schema.get(keyword);
    return switch (keyword) {
      case "$ref" -> allows(ApiDocument.referred(String.valueOf(rule)), value);
      case "type" -> isOfType(String.valueOf(rule), value);
      case "const" -> value.equals(rule);
      case "pattern" ->
          !(value instanceof String text)
              || Pattern.compile(String.valueOf(rule)).matcher(text).find();
      case "minLength" -> !(value instanceof String text) || text.length() >= number(rule);
      case "maxLength" -> !(value instanceof String text) || text.length() <= number(rule);
      case "minimum" -> !(value instanceof Long whole) || whole >= number(rule);
      case "maximum" -> !(value instanceof Long whole) || whole <= number(rule);
      case "required" ->
          !(value instanceof Map<?, ?> members)
              || members.keySet().containsAll(ApiDocument.list(schema, keyword));
      case "properties" ->
          !(value instanceof Map<?, ?> members)
              || ApiDocument.object(schema, keyword).keySet().stream()
                  .allMatch(
                      name -> {
                        Object member = members.get(name);
                        return member == null
                            || allows(
                                ApiDocument.object(ApiDocument.object(schema, keyword), name),
                                member);
                      });
      case "additionalProperties" ->
          !(value instanceof Map<?, ?> members)
              || ApiDocument.object(schema, "properties").keySet().containsAll(members.keySet());
      case "items" ->
          !(value instanceof List<?> elements)
              || elements.stream()
                  .allMatch(element -> allows(ApiDocument.object(schema, keyword), element));
      case "not" -> !allows(ApiDocument.object(schema, keyword), value);
      case "oneOf" -> matching(schema, keyword, value) == 1;
      case "anyOf" -> matching(schema, keyword, value) > 0;
      case "allOf" -> matching(schema, keyword, value) == ApiDocument.list(schema, keyword).size();
      default -> throw new AssertionError("nothing is known of " + keyword);
    };
  }

  @SuppressWarnings("unchecked") // Lists of schemas have objects.
  private static int matching(Map<String, Object> schema, String keyword, Object value) {
    int count = 0;
    for (Object element : ApiDocument.list(schema, keyword)) {
      count += allows((Map<String, Object>) element, value) ? 1 : 0;
    }
    return count;
  }

  private static boolean isOfType(String type, Object value) {
    return switch (type) {
      case "object" -> value instanceof Map;
      case "array" -> value instanceof List;
      case "string" -> value instanceof String;
      case "integer" -> value instanceof Long;
      case "boolean" -> value instanceof Boolean;
      default -> throw new AssertionError("no such type: " + type);
    };
  }

  private static long number(@Nullable Object value) {
    return (Long) Objects.requireNonNull(value);
  }
}
