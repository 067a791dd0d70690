package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import org.jspecify.annotations.Nullable;

/** The change feed of a running server, read as server-sent events. */
final class ServedChanges implements AutoCloseable {
  private final ServerConnection server;
  private final InputStream body;
  private final BufferedReader lines;

  /** A change with its sequence number, or the end of a commit without one. */
  record Event(long sequence, @Nullable String change) {}

  /**
   * @param query of the feed, such as {@code after=7}
   */
  ServedChanges(ServerConnection server, String query) throws IOException, InterruptedException {
    this.server = server;
    this.body = server.open("/v1/changes?" + query, "text/event-stream");
    this.lines = new BufferedReader(new InputStreamReader(body, UTF_8));
  }

  /**
   * Waits for the next event. Null if the server has ended the feed.
   *
   * @throws IOException if reading failed, as it does when {@link #close} is called meanwhile
   */
  @Nullable Event next() throws IOException {
    String kind = "";
    String data = null;
    long id = -1;
    for (String line = lines.readLine(); line != null; line = lines.readLine()) {
      int colon = line.indexOf(": ");
      String value = colon < 0 ? "" : line.substring(colon + 2);
      if (line.startsWith("event: ")) {
        kind = value;
      } else if (line.startsWith("id: ")) {
        id = number(value);
      } else if (line.startsWith("data: ")) {
        data = value;
      } else if (line.isEmpty() && kind.isEmpty() && id >= 0) {
        return new Event(id, data);
      } else if (line.isEmpty()) {
        if (data != null && !kind.equals("start")) {
          throw server.refused(kind, data);
        }
        kind = "";
        data = null;
        id = -1;
      }
    }
    return null;
  }

  private long number(String id) {
    try {
      return Long.parseLong(id);
    } catch (NumberFormatException e) {
      throw CommandFailure.failed(server.server() + " sends no changes of a store", e);
    }
  }

  /** May be called by another thread. */
  @Override
  public void close() throws IOException {
    body.close();
  }
}
