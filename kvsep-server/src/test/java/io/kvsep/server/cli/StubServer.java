package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Function;
import java.util.stream.Collectors;

/** A server that answers as a test says, and remembers what it was asked. */
class StubServer implements AutoCloseable {
  /** What it was asked: {@code METHOD path?query}. */
  record Asked(String line, String body, String token) {}

  /**
   * @param length what it announces, which may be more than it has; 0 for chunks
   */
  record Answer(int status, byte[] body, long length) {
    static Answer ok(String body) {
      return of(200, body);
    }

    static Answer of(int status, String body) {
      return new Answer(status, body.getBytes(UTF_8), 0);
    }

    static Answer problem(int status, String detail) {
      return of(status, "{\"type\":\"urn:kvsep:problem:x\",\"detail\":\"" + detail + "\"}");
    }
  }

  private final HttpServer server;
  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final Map<String, Function<Asked, Answer>> answers = new ConcurrentHashMap<>();
  private final List<Asked> asked = new CopyOnWriteArrayList<>();

  StubServer() throws IOException {
    server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    server.setExecutor(threads);
    server.createContext("/", this::handle);
    server.start();
  }

  String url() {
    return "http://127.0.0.1:" + server.getAddress().getPort();
  }

  /**
   * @param line method and path, without a query
   */
  StubServer on(String line, Answer answer) {
    return on(line, asked -> answer);
  }

  StubServer on(String line, Function<Asked, Answer> answer) {
    answers.put(line, answer);
    return this;
  }

  List<Asked> asked() {
    return asked;
  }

  /** What it was asked, without bodies. */
  List<String> lines() {
    return asked.stream().map(Asked::line).collect(Collectors.toList());
  }

  Answer answer(Asked request) {
    return answers
        .getOrDefault(
            request.line().replaceAll("[?].*", ""),
            unknown -> Answer.problem(404, "there is nothing here"))
        .apply(request);
  }

  private void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      String token = exchange.getRequestHeaders().getFirst("Authorization");
      Asked request =
          new Asked(
              exchange.getRequestMethod() + " " + exchange.getRequestURI(),
              new String(exchange.getRequestBody().readAllBytes(), UTF_8),
              token == null ? "" : token);
      asked.add(request);
      Answer answer = answer(request);
      exchange.sendResponseHeaders(answer.status(), answer.length());
      if (answer.body().length > 0) {
        exchange.getResponseBody().write(answer.body());
      }
    }
  }

  @Override
  public void close() {
    server.stop(0);
    threads.shutdownNow();
  }
}
