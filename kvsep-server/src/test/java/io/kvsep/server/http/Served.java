package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import io.kvsep.server.json.JsonText;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A store behind a server on a free port of loopback, and a client. Every answer is held to the
 * OpenAPI document, and every problem to its form.
 */
final class Served implements AutoCloseable {
  private static final EventLoopGroup LOOPS = EventLoopGroups.newEventLoopGroup(2, "test", true);
  private static final Pattern LENGTH = Pattern.compile("content-length: (\\d+)");
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(30);

  private final KvStore store;
  private final HttpFront front;
  private final HttpClient client =
      HttpClient.newBuilder()
          .version(HttpClient.Version.HTTP_1_1)
          .connectTimeout(Duration.ofSeconds(20))
          .build();

  private Served(KvStore store, HttpOptions options) {
    this.store = store;
    this.front = new HttpFront(store, options, LOOPS);
    front.start();
  }

  static Served at(Path directory) {
    return at(directory, HttpOptions.builder().build(), UnaryOperator.identity());
  }

  static Served at(Path directory, HttpOptions options) {
    return at(directory, options, UnaryOperator.identity());
  }

  /**
   * @param between what the server sees instead of the store
   */
  static Served at(Path directory, HttpOptions options, UnaryOperator<KvStore> between) {
    KvOptions small = KvOptions.builder().memoryBudgetBytes(32 << 20).segmentBytes(8 << 20).build();
    return new Served(between.apply(KvStore.open(directory, small)), options);
  }

  /** Closes the store at the end. */
  static Served of(KvStore store, HttpOptions options) {
    return new Served(store, options);
  }

  KvStore store() {
    return store;
  }

  /** Deletes everything, for the next test. */
  void empty() {
    store.keyspaces().forEach(name -> store.dropKeyspace(store.keyspace(name)));
    WriteBatch batch = new WriteBatch();
    try (KvCursor cursor = store.cursor(ScanOptions.all().keysOnly())) {
      while (cursor.next()) {
        batch.delete(cursor.key());
      }
    }
    store.write(batch);
  }

  HttpFront front() {
    return front;
  }

  int port() {
    return front.address().getPort();
  }

  URI uri(String target) {
    return URI.create("http://127.0.0.1:" + port() + target);
  }

  /** What came back. */
  record Answer(int status, HttpResponse<byte[]> response) {
    String text() {
      return new String(response.body(), UTF_8);
    }

    byte[] bytes() {
      return response.body();
    }

    String header(String name) {
      return response.headers().firstValue(name).orElse("");
    }

    Map<String, Object> json() {
      return JsonText.object(text());
    }

    Answer is(int expected) {
      assertEquals(expected, status, () -> response.request() + ": " + text());
      return this;
    }

    /** Of that status and kind. */
    Answer isProblem(int expected, String kind) {
      is(expected);
      assertEquals("application/problem+json", header("content-type"));
      if (!response.request().method().equals("HEAD")) {
        assertEquals("urn:kvsep:problem:" + kind, json().get("type"), text());
        assertEquals((long) expected, json().get("status"));
        assertFalse(text().contains("\tat "), text());
      }
      return this;
    }
  }

  Answer get(String target, String... headers) {
    return send(request("GET", target, new byte[0], headers));
  }

  Answer head(String target, String... headers) {
    return send(request("HEAD", target, new byte[0], headers));
  }

  Answer put(String target, String body, String... headers) {
    return send(request("PUT", target, body.getBytes(UTF_8), headers));
  }

  Answer put(String target, byte[] body, String... headers) {
    return send(request("PUT", target, body, headers));
  }

  Answer post(String target, String body, String... headers) {
    return send(request("POST", target, body.getBytes(UTF_8), headers));
  }

  Answer delete(String target, String... headers) {
    return send(request("DELETE", target, new byte[0], headers));
  }

  HttpRequest request(String method, String target, byte[] body, String... headers) {
    HttpRequest.Builder request =
        HttpRequest.newBuilder(uri(target))
            .timeout(Duration.ofSeconds(60))
            .method(
                method,
                body.length == 0 ? BodyPublishers.noBody() : BodyPublishers.ofByteArray(body));
    if (headers.length > 0) {
      request.headers(headers);
    }
    return request.build();
  }

  Answer send(HttpRequest request) {
    try {
      HttpResponse<byte[]> response = client.send(request, BodyHandlers.ofByteArray());
      ApiDocument.check(front.routes(), request, response.statusCode());
      assertEquals("nosniff", response.headers().firstValue("x-content-type-options").orElse(""));
      return new Answer(response.statusCode(), response);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } catch (InterruptedException e) {
      throw new IllegalStateException(e);
    }
  }

  HttpResponse<InputStream> stream(String target, String... headers) throws Exception {
    HttpRequest request = request("GET", target, new byte[0], headers);
    HttpResponse<InputStream> response = client.send(request, BodyHandlers.ofInputStream());
    ApiDocument.check(front.routes(), request, response.statusCode());
    return response;
  }

  Socket socket() throws IOException {
    Socket socket = new Socket(InetAddress.getLoopbackAddress(), port());
    socket.setSoTimeout((int) TimeUnit.NANOSECONDS.toMillis(PATIENCE_NANOS));
    return socket;
  }

  /** Sends these bytes and reads until the server closes. */
  String raw(String request) throws IOException {
    try (Socket socket = socket()) {
      OutputStream output = socket.getOutputStream();
      output.write(request.getBytes(UTF_8));
      output.flush();
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  /** The same, but reads one answer, whether the server waits for more of the request or not. */
  String rawAnswer(String request) throws IOException {
    try (Socket socket = socket()) {
      socket.getOutputStream().write(request.getBytes(UTF_8));
      InputStream input = socket.getInputStream();
      StringBuilder head = new StringBuilder();
      while (head.indexOf("\r\n\r\n") < 0) {
        int next = input.read();
        assertTrue(next >= 0, () -> "ends in the head: " + head);
        head.append((char) next);
      }
      Matcher length = LENGTH.matcher(head);
      assertTrue(length.find(), head::toString);
      int count = Integer.parseInt(length.group(1));
      return head + new String(input.readNBytes(count), UTF_8);
    }
  }

  static void await(BooleanSupplier condition) {
    long end = System.nanoTime() + PATIENCE_NANOS;
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() - end < 0, "it did not come about");
      // Others need the processor to bring it about.
      LockSupport.parkNanos(1_000_000);
    }
  }

  @Override
  public void close() {
    front.close();
    store.close();
  }
}
