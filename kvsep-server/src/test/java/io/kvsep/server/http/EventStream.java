package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.server.json.JsonText;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.http.HttpResponse;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Reads server-sent events by the rules of the HTML standard. */
final class EventStream implements AutoCloseable {
  /**
   * @param name empty for none
   */
  record Event(String name, String data) {
    Map<String, Object> json() {
      return JsonText.object(data);
    }
  }

  private final BufferedReader lines;
  private String id = "";
  private String lastId = "";
  private int comments;
  private boolean isOver;

  private EventStream(InputStream stream) {
    lines = new BufferedReader(new InputStreamReader(stream, UTF_8));
  }

  /** Of a feed that has begun: the first event says where. */
  static EventStream of(HttpResponse<InputStream> response) throws IOException {
    assertEquals(200, response.statusCode());
    assertEquals("text/event-stream", response.headers().firstValue("content-type").orElse(""));
    assertEquals("nosniff", response.headers().firstValue("x-content-type-options").orElse(""));
    EventStream events = new EventStream(response.body());
    Event start = events.next();
    assertEquals("start", start.name());
    assertEquals(events.lastId(), String.valueOf(start.json().get("sequence")));
    return events;
  }

  /** What a client sends to go on here. */
  String lastId() {
    return lastId;
  }

  /** Lines by which the server showed that it is still there. */
  int comments() {
    return comments;
  }

  /** The next event; fails at the end. */
  Event next() throws IOException {
    Event event = block();
    while (event == null) {
      assertFalse(isOver, "the stream has ended");
      event = block();
    }
    return event;
  }

  /** Up to the next empty line; null for no event. */
  @Nullable Event block() throws IOException {
    String name = "";
    StringBuilder data = new StringBuilder();
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int colon = line.indexOf(':');
      String field = colon < 0 ? line : line.substring(0, colon);
      String value = colon < 0 ? "" : line.substring(colon + 1);
      value = value.startsWith(" ") ? value.substring(1) : value;
      if (line.isEmpty()) {
        lastId = id;
        return data.isEmpty() ? null : new Event(name, data.toString().stripTrailing());
      }
      switch (field) {
        case "" -> comments++;
        case "id" -> id = value;
        case "event" -> name = value;
        case "data" -> data.append(value).append('\n');
        default -> fail("no field of events: " + line);
      }
    }
    isOver = true;
    return null;
  }

  /** That nothing follows but the proper end of the answer. */
  void assertEnds() throws IOException {
    while (!isOver) {
      assertNull(block());
    }
  }

  @Override
  public void close() throws IOException {
    lines.close();
  }
}
