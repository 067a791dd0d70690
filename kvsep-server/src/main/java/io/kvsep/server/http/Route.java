package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * A path template, as in the OpenAPI document, and its operations. A variable matches up to the
 * next slash; {@code {key}} matches the rest. Paths are compared as sent, so an encoded slash is
 * not a slash.
 */
final class Route {
  enum Body {
    NONE,
    VALUE,
    DOCUMENT
  }

  /** Whether an operation has a time limit. */
  enum Time {
    BOUNDED,
    ANY
  }

  /** Runs on a thread that may block. */
  interface Handler {
    HttpResponse answer(Exchange exchange);
  }

  /** Runs on a thread that may block. Returns null for requests that take long. */
  interface ShortHandler {
    @Nullable HttpResponse answer(Exchange exchange);
  }

  /** Runs on an event loop. Returns null if answering would take too long. */
  interface LoopHandler {
    @Nullable HttpResponse answer(Exchange exchange);
  }

  /**
   * What a method does.
   *
   * @param handler returns null if {@code longHandler} has to answer
   * @param longHandler answers requests that may read much, on other threads, so that short
   *     requests do not wait; null if there are none
   * @param onLoop null if the operation never runs on an event loop
   */
  record Operation(
      RequestMeter.Kind kind,
      Body body,
      Time time,
      ShortHandler handler,
      @Nullable Handler longHandler,
      @Nullable LoopHandler onLoop) {}

  private static final String REST = "{key}";

  private static final List<String> LOCAL =
      List.of("/metrics", "/v1/stats", "/v1/admin/", "/v1/cluster");

  private final String template;
  private final List<String> parts;
  private final boolean isOpen;
  private final boolean onlyReads;
  private final boolean isLocal;
  private final boolean isInKeyspace;
  private final boolean hasBase64Key;
  private final Map<HttpMethod, Operation> operations = new EnumMap<>(HttpMethod.class);

  private Route(String template, boolean isOpen, boolean onlyReads) {
    this.template = template;
    this.parts = List.of(template.substring(1).split("/", -1));
    this.isOpen = isOpen;
    this.onlyReads = onlyReads;
    this.isLocal =
        isOpen || template.endsWith("/changes") || LOCAL.stream().anyMatch(template::startsWith);
    this.isInKeyspace = template.startsWith("/v1/keyspaces/{name}");
    this.hasBase64Key = template.contains("/keys64/");
  }

  static Route at(String template) {
    return new Route(template, false, false);
  }

  /** A route that only reads, with any method. */
  static Route readAt(String template) {
    return new Route(template, false, true);
  }

  /** A route that reveals nothing about the store and therefore needs no token. */
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

  /** Whether the method changes nothing, so that a read-only token suffices. */
  boolean isRead(HttpMethod method) {
    return onlyReads || method == HttpMethod.GET || method == HttpMethod.HEAD;
  }

  /** Whether it is about this server and not about entries, which all nodes of a cluster have. */
  boolean isLocal() {
    return isLocal;
  }

  /** Whether the leader may answer for another node: not with a backup, which is of one node. */
  boolean mayRedirect() {
    return !template.equals("/v1/backup");
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

  /** The values of the variables, still encoded, or null if the path does not match. */
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
