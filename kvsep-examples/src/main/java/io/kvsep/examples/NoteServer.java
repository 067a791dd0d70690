package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import io.kvsep.EntryInfo;
import io.kvsep.KvStore;
import io.kvsep.error.KvException;
import io.kvsep.error.LimitExceededException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;

/**
 * A store in an HTTP service without a framework: {@code GET}, {@code PUT} and {@code DELETE} of
 * {@code /notes/NAME}. One store serves all threads; it is opened before the server and closed
 * after it. The version of an entry is its {@code ETag}.
 */
public final class NoteServer {
  private static final String PATH = "/notes/";
  private static final int NOTE_BYTES_MAX = 1 << 20;

  private final KvStore store;
  private final HttpServer server;
  private final ExecutorService threads = Executors.newFixedThreadPool(8);

  /**
   * @param port 0 for any free one
   */
  public NoteServer(KvStore store, int port) throws IOException {
    this.store = store;
    this.server = HttpServer.create(new InetSocketAddress("localhost", port), 0);
    server.createContext(PATH, this::serve);
    server.setExecutor(threads);
    server.start();
  }

  private record Answer(int status, String tag, byte[] body) {
    static Answer of(int status, String text) {
      return new Answer(status, "", text.getBytes(UTF_8));
    }
  }

  public int port() {
    return server.getAddress().getPort();
  }

  /** Ends requests that take longer than {@code seconds}. Then the store may be closed. */
  public void stop(int seconds) {
    server.stop(seconds);
    threads.shutdown();
  }

  private void serve(HttpExchange exchange) throws IOException {
    try (exchange) {
      Answer answer;
      try {
        answer = answer(exchange);
      } catch (LimitExceededException e) {
        answer = Answer.of(400, e.getMessage() + "\n");
      } catch (KvException e) {
        // Such as a full disk: reads go on, and so do writes once there is space.
        answer = Answer.of(503, e.getMessage() + "\n");
      }
      if (!answer.tag().isEmpty()) {
        exchange.getResponseHeaders().set("ETag", answer.tag());
      }
      byte[] body = answer.body();
      exchange.sendResponseHeaders(answer.status(), body.length == 0 ? -1 : body.length);
      if (body.length > 0) {
        exchange.getResponseBody().write(body);
      }
    }
  }

  private Answer answer(HttpExchange exchange) throws IOException {
    byte[] key = exchange.getRequestURI().getPath().substring(PATH.length()).getBytes(UTF_8);
    switch (exchange.getRequestMethod()) {
      case "GET":
        return get(key, exchange.getRequestHeaders().getFirst("If-None-Match"));
      case "PUT":
        byte[] note = exchange.getRequestBody().readNBytes(NOTE_BYTES_MAX + 1);
        return note.length > NOTE_BYTES_MAX
            ? Answer.of(413, "a note has at most 1 MiB\n")
            : new Answer(204, tag(store.putVersioned(key, note)), new byte[0]);
      case "DELETE":
        store.delete(key);
        return Answer.of(204, "");
      default:
        return Answer.of(405, "GET, PUT or DELETE\n");
    }
  }

  private Answer get(byte[] key, @Nullable String known) {
    EntryInfo info = store.info(key);
    if (info != null && tag(info.version()).equals(known)) {
      return new Answer(304, tag(info.version()), new byte[0]); // without reading the value
    }
    Answer found =
        store.readWithInfo(
            key,
            (entry, value) -> {
              byte[] copy = new byte[value.remaining()];
              value.get(copy);
              return new Answer(200, tag(entry.version()), copy);
            });
    return found == null ? Answer.of(404, "no such note\n") : found;
  }

  private static String tag(long version) {
    return '"' + Long.toString(version) + '"';
  }

  public static void main(String[] arguments) throws IOException {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "note-data");
    int port = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 8080;
    KvStore store = KvStore.open(directory);
    NoteServer server = new NoteServer(store, port);
    Runtime.getRuntime()
        .addShutdownHook(
            new Thread(
                () -> {
                  server.stop(1);
                  store.close();
                }));
    System.out.println("http://localhost:" + server.port() + PATH);
  }
}
