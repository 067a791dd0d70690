package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A kind of path, and what can be done there. Templates are those of the OpenAPI document. A
 * variable takes what lies up to the next slash; {@code {key}} takes all that follows. Paths are
 * compared as they were sent, so that an encoded slash is no slash.
 */
final class Route {
  /** What a request brings. */
  enum Body {
    NONE,
    VALUE,
    DOCUMENT
  }

  /** How long an operation may take. */
  enum Time {
    BOUNDED,
    ANY
  }

  /** Answers one request; runs on a thread that may wait. */
  interface Handler {
    HttpResponse answer(Exchange exchange);
  }

  /** Answers one request that is over soon, or gives null; runs on a thread that may wait. */
  interface ShortHandler {
    @Nullable HttpResponse answer(Exchange exchange);
  }

  /** Answers at once, on an event loop, or gives null where that would take too long. */
  interface LoopHandler {
    @Nullable HttpResponse answer(Exchange exchange);
  }

  /**
   * What a method does.
   *
   * @param handler gives null for what {@code longHandler} is to answer
   * @param longHandler answers what may read much at once, by other threads, so that short requests
   *     do not wait for that; null where nothing does
   * @param onLoop null where nothing is done on an event loop
   */
  record Operation(
      RequestMeter.Kind kind,
      Body body,
      Time time,
      ShortHandler handler,
      @Nullable Handler longHandler,
      @Nullable LoopHandler onLoop) {}

  private static final String REST = "{key}";

  private final String template;
  private final List<String> parts;
  private final boolean isOpen;
  private final boolean onlyReads;
  private final boolean isInKeyspace;
  private final boolean hasBase64Key;
  private final Map<HttpMethod, Operation> operations = new EnumMap<>(HttpMethod.class);

  private Route(String template, boolean isOpen, boolean onlyReads) {
    this.template = template;
    this.parts = List.of(template.substring(1).split("/", -1));
    this.isOpen = isOpen;
    this.onlyReads = onlyReads;
    this.isInKeyspace = template.startsWith("/v1/keyspaces/{name}");
    this.hasBase64Key = template.contains("/keys64/");
  }

  static Route at(String template) {
    return new Route(template, false, false);
  }

  /** One that only reads, whatever the method is called. */
  static Route readAt(String template) {
    return new Route(template, false, true);
  }

  /** One that shows nothing of the store and so asks for no token. */
  static Route openAt(String template) {
    return new Route(template, true, true);
  }

  Route on(HttpMethod method, Operation operation) {
    operations.put(method, operation);
    return this;
  }

  String template() {
    return template;
  }

  boolean isOpen() {
    return isOpen;
  }

  /** Whether the method changes nothing, so that a token that only reads will do for it. */
  boolean isRead(HttpMethod method) {
    return onlyReads || method == HttpMethod.GET || method == HttpMethod.HEAD;
  }

  /** Whether the first variable is the name of a keyspace. */
  boolean isInKeyspace() {
    return isInKeyspace;
  }

  /** Whether the last variable is a key in base64url. */
  boolean hasBase64Key() {
    return hasBase64Key;
  }

  Map<HttpMethod, Operation> operations() {
    return operations;
  }

  /** The values of the variables, still encoded, or null when the path is of another kind. */
  @Nullable List<String> match(String path) {
    List<String> values = new ArrayList<>(2);
    int position = 0;
    for (int i = 0; i < parts.size(); i++) {
      if (position >= path.length() || path.charAt(position) != '/') {
        return null;
      }
      position++;
      String part = parts.get(i);
      if (part.equals(REST)) {
        values.add(path.substring(position));
        return values;
      }
      if (part.startsWith("{")) {
        int slash = path.indexOf('/', position);
        int end = slash < 0 ? path.length() : slash;
        values.add(path.substring(position, end));
        position = end;
      } else if (path.startsWith(part, position)) {
        position += part.length();
      } else {
        return null;
      }
    }
    return position == path.length() ? values : null;
  }
}
