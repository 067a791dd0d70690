package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.net.ConnectException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** The change feed of a running server, read as server-sent events. */
final class ServedChanges implements AutoCloseable {
  private static final Duration CONNECT_TIME = Duration.ofSeconds(10);

  private final URI server;
  private final InputStream body;
  private final BufferedReader lines;

  /** A change with its sequence number, or the end of a commit without one. */
  record Event(long sequence, @Nullable String change) {}

  /**
   * @param query of the feed, such as {@code after=7}
   * @param token null for none
   */
  ServedChanges(URI server, String query, @Nullable String token)
      throws IOException, InterruptedException {
    this.server = server;
    String base = server.toString().replaceAll("/+$", "");
    HttpRequest.Builder request =
        HttpRequest.newBuilder(URI.create(base + "/v1/changes?" + query))
            .header("Accept", "text/event-stream");
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    HttpClient client =
        HttpClient.newBuilder()
            .version(HttpClient.Version.HTTP_1_1)
            .connectTimeout(CONNECT_TIME)
            .build();
    HttpResponse<InputStream> response;
    try {
      response = client.send(request.build(), BodyHandlers.ofInputStream());
    } catch (ConnectException e) {
      throw CommandFailure.failed("no server at " + server, e);
    }
    body = response.body();
    lines = new BufferedReader(new InputStreamReader(body, UTF_8));
    if (response.statusCode() != 200) {
      try (body) {
        throw refused("status " + response.statusCode(), new String(body.readAllBytes(), UTF_8));
      }
    }
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
        id = Long.parseLong(value);
      } else if (line.startsWith("data: ")) {
        data = value;
      } else if (line.isEmpty() && kind.isEmpty() && id >= 0) {
        return new Event(id, data);
      } else if (line.isEmpty()) {
        if (data != null && !kind.equals("start")) {
          throw refused(kind, data);
        }
        kind = "";
        data = null;
        id = -1;
      }
    }
    return null;
  }

  private CommandFailure refused(String kind, String problem) {
    return CommandFailure.failed(server + " answers " + kind + ": " + detail(problem));
  }

  /** What the problem says of itself, or all of it if it is none. */
  private static String detail(String problem) {
    try (JsonParser parser = new JsonFactory().createParser(problem)) {
      while (parser.nextToken() != null) {
        if (parser.currentToken() == JsonToken.FIELD_NAME
            && "detail".equals(parser.currentName())) {
          return String.valueOf(parser.nextTextValue());
        }
      }
    } catch (IOException e) {
      return problem;
    }
    return problem;
  }

  /** May be called by another thread. */
  @Override
  public void close() throws IOException {
    body.close();
  }
}
