package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.json.JsonText;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.http.HttpRequest;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;

/** The OpenAPI document, to hold answers to. */
final class ApiDocument {
  /** What any path may answer, which the document says once for all. */
  private static final Set<Integer> EVERYWHERE = Set.of(405, 414, 431);

  private static final Map<String, Object> DOCUMENT = read();

  private ApiDocument() {}

  static Map<String, Object> paths() {
    return object(DOCUMENT, "paths");
  }

  @SuppressWarnings("unchecked") // JsonText makes objects of this type and no other.
  static Map<String, Object> object(Map<String, Object> parent, String name) {
    return (Map<String, Object>) Objects.requireNonNull(parent.get(name), name);
  }

  static void check(Routes routes, HttpRequest request, int status) {
    String path = request.uri().getRawPath();
    Routes.Match match = routes.find(path);
    if (match == null || EVERYWHERE.contains(status)) {
      return;
    }
    String method = request.method().toLowerCase(Locale.ROOT);
    Map<String, Object> operation = object(object(paths(), match.route().template()), method);
    assertTrue(
        object(operation, "responses").containsKey(Integer.toString(status)),
        () -> "the document says nothing of " + status + " for " + method + " " + path);
  }

  /** Names of the parameters that an operation has in its query, which are members of one. */
  static SortedSet<String> queryParameters(String path, String method) {
    SortedSet<String> names = new TreeSet<>();
    for (Object reference : list(object(object(paths(), path), method), "parameters")) {
      String name = reference.toString().replaceAll(".*/|}", "");
      Map<String, Object> parameter = part("parameters", name);
      if ("query".equals(parameter.get("in"))) {
        names.addAll(object(object(parameter, "schema"), "properties").keySet());
      }
    }
    return names;
  }

  /** The schema of a parameter of any kind. */
  static Map<String, Object> parameter(String name) {
    return object(part("parameters", name), "schema");
  }

  /** The schema of the body of a {@code POST}. */
  static Map<String, Object> body(String path) {
    Map<String, Object> content =
        object(object(object(object(paths(), path), "post"), "requestBody"), "content");
    return object(object(content, "application/json"), "schema");
  }

  /** What a reference from somewhere else in the document leads to. */
  static Map<String, Object> referred(String reference) {
    String[] parts = reference.split("/", -1);
    return part(parts[2], parts[3]);
  }

  private static Map<String, Object> part(String kind, String name) {
    return object(object(object(DOCUMENT, "components"), kind), name);
  }

  /** That an object has all members which its schema requires, and none that it does not know. */
  static void checkMembers(String schema, Map<String, Object> value) {
    Map<String, Object> form = part("schemas", schema);
    Set<String> known = object(form, "properties").keySet();
    assertTrue(known.containsAll(value.keySet()), () -> "not in the document: " + value);
    assertTrue(value.keySet().containsAll(list(form, "required")), () -> "not all of: " + value);
  }

  @SuppressWarnings("unchecked") // JsonText makes lists of this type and no other.
  static List<Object> list(Map<String, Object> parent, String name) {
    return (List<Object>) Objects.requireNonNull(parent.get(name), name);
  }

  private static Map<String, Object> read() {
    try (InputStream file =
        Objects.requireNonNull(HttpFront.class.getResourceAsStream("openapi.json"))) {
      return JsonText.object(new String(file.readAllBytes(), UTF_8));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
