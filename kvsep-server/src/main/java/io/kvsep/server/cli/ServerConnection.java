package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.kvsep.server.json.JsonObject;
import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublisher;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.time.Duration;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A running server, asked over HTTP. An answer other than success is a {@link CommandFailure} with
 * what the server says about it.
 */
final class ServerConnection {
  private static final Duration CONNECT_TIME = Duration.ofSeconds(10);

  /** Most that is read of a refusal, and most that is shown if it is no problem document. */
  private static final int PROBLEM_BYTES_MAX = 1 << 16;

  private static final int SHOWN_MAX = 200;

  private static final Set<String> SCHEMES = Set.of("http", "https");

  private final URI server;
  private final String base;
  private final @Nullable String token;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(CONNECT_TIME)
          .build();

  /**
   * @param token null for none
   */
  ServerConnection(URI server, @Nullable String token) {
    if (!SCHEMES.contains(String.valueOf(server.getScheme())) || server.getHost() == null) {
      throw CommandFailure.misused("--url is no address such as http://127.0.0.1:8480: " + server);
    }
    this.server = server;
    this.base = server.toString().replaceAll("/+$", "");
    this.token = token;
  }

  URI server() {
    return server;
  }

  /** A part of a path that stands for any text. */
  static String encoded(String text) {
    return URLEncoder.encode(text, UTF_8).replace("+", "%20");
  }

  /** Begins to read what {@code path} has. */
  InputStream open(String path, String accept) throws IOException, InterruptedException {
    return begin(request(path).header("Accept", accept).build());
  }

  /** What {@code path} has, as text. */
  String get(String path, Duration time) throws IOException, InterruptedException {
    return text(request(path).timeout(time).build());
  }

  /** Sends a document, or no body for null, and returns the answer's text. */
  String post(String path, @Nullable JsonObject document, Duration time)
      throws IOException, InterruptedException {
    HttpRequest.Builder request = request(path).timeout(time);
    if (document != null) {
      request.header("Content-Type", "application/json");
    }
    return text(
        request
            .POST(
                document == null
                    ? BodyPublishers.noBody()
                    : BodyPublishers.ofString(document.toString()))
            .build());
  }

  String send(String method, String path, BodyPublisher body, Duration time)
      throws IOException, InterruptedException {
    return text(request(path).timeout(time).method(method, body).build());
  }

  private HttpRequest.Builder request(String path) {
    HttpRequest.Builder request = HttpRequest.newBuilder(URI.create(base + path));
    if (token != null) {
      request.header("Authorization", "Bearer " + token);
    }
    return request;
  }

  private String text(HttpRequest request) throws IOException, InterruptedException {
    try (InputStream body = begin(request)) {
      return new String(body.readAllBytes(), UTF_8);
    }
  }

  private InputStream begin(HttpRequest request) throws IOException, InterruptedException {
    HttpResponse<InputStream> response;
    try {
      response = client.send(request, BodyHandlers.ofInputStream());
    } catch (ConnectException e) {
      throw CommandFailure.failed("no server at " + server, e);
    }
    if (response.statusCode() / 100 == 2) {
      return response.body();
    }
    try (InputStream body = response.body()) {
      byte[] problem = body.readNBytes(PROBLEM_BYTES_MAX);
      throw refused("status " + response.statusCode(), new String(problem, UTF_8));
    }
  }

  /**
   * @param kind status or name of the problem
   */
  CommandFailure refused(String kind, String problem) {
    return CommandFailure.failed(server + " answers " + kind + ": " + detail(problem));
  }

  /** What the problem says of itself, or its beginning if it is none. */
  private static String detail(String problem) {
    try (JsonParser parser = new JsonFactory().createParser(problem)) {
      while (parser.nextToken() != null) {
        if (parser.currentToken() == JsonToken.FIELD_NAME
            && "detail".equals(parser.currentName())) {
          return String.valueOf(parser.nextTextValue());
        }
      }
    } catch (IOException e) {
      // No JSON, or cut.
    }
    return problem.substring(0, Math.min(problem.length(), SHOWN_MAX));
  }
}
