package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.function.Consumer;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class LimitsHttpTest {
  private static final int VALUE_BYTES_MAX = 3 << 20;

  @TempDir static Path shared;

  /** One that takes little. */
  private static Served narrow;

  /** One that does not wait long. */
  private static Served hasty;

  @TempDir Path folder;

  @BeforeAll
  static void serve() {
    narrow =
        served(
            shared.resolve("narrow"),
            limits -> {
              limits.valueBytes = VALUE_BYTES_MAX;
              limits.documentBytes = 1000;
              limits.bodiesBytes = VALUE_BYTES_MAX + 500;
            });
    hasty =
        served(
            shared.resolve("hasty"),
            limits -> {
              limits.requestMillis = 300;
              limits.scanMillis = 300;
              limits.idleMillis = 1_000;
            });
  }

  @AfterAll
  static void close() {
    narrow.close();
    hasty.close();
  }

  /** Limits that a test changes some of. */
  static final class Draft {
    int valueBytes = 64 << 20;
    int documentBytes = 1 << 20;
    long bodiesBytes = 256 << 20;
    int requests = 1000;
    int connections = 1000;
    int feeds = 10;
    long requestMillis = 30_000;
    long idleMillis = 60_000;
    long scanMillis = 30_000;
    long heartbeatMillis = 15_000;
    int bytesPerSecond = 1 << 16;
  }

  static HttpLimits with(Consumer<Draft> change) {
    Draft draft = new Draft();
    change.accept(draft);
    return new HttpLimits(
        draft.valueBytes,
        draft.documentBytes,
        draft.bodiesBytes,
        draft.requests,
        draft.connections,
        draft.feeds,
        Duration.ofMillis(draft.requestMillis),
        Duration.ofMillis(draft.idleMillis),
        Duration.ofMillis(draft.scanMillis),
        Duration.ofMillis(draft.heartbeatMillis),
        draft.bytesPerSecond);
  }

  private static Served served(Path folder, Consumer<Draft> change) {
    return Served.at(folder, HttpOptions.builder().limits(with(change)).build());
  }

  @Test
  void bodiesThatAreTooLongAreRefusedUnread() throws Exception {
    narrow.put("/v1/keys/a", new byte[VALUE_BYTES_MAX]).is(204);
    narrow.post("/v1/batch", " ".repeat(1001)).isProblem(413, "limit-exceeded");
    String tooLong =
        narrow.rawAnswer(
            "PUT /v1/keys/none HTTP/1.1\r\nHost: localhost\r\nContent-Length: "
                + (VALUE_BYTES_MAX + 1)
                + "\r\n\r\nx");
    assertTrue(tooLong.startsWith("HTTP/1.1 413 "), tooLong);
    assertTrue(tooLong.contains("urn:kvsep:problem:limit-exceeded"), tooLong);

    String chunk = Integer.toHexString(2 << 20) + "\r\n" + "x".repeat(2 << 20) + "\r\n0\r\n\r\n";
    String chunked =
        "PUT /v1/keys/c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Transfer-Encoding: chunked\r\n\r\n".toLowerCase(Locale.ROOT);
    String unannounced = narrow.rawAnswer(chunked + chunk);
    assertTrue(unannounced.startsWith("HTTP/1.1 411 "), unannounced);
    String small = narrow.raw(chunked + "3\r\nabc\r\n0\r\n\r\n");
    assertTrue(small.startsWith("HTTP/1.1 204 "), small);
    assertEquals("abc", narrow.get("/v1/keys/c").text());
    narrow.get("/v1/keys/none").is(404);
  }

  @Test
  void targetsAndHeadersThatAreTooLongAreRefused() throws Exception {
    // What follows the answer is a reset where the server closes on a request it has not read
    // whole.
    String target = narrow.rawAnswer("GET /" + "a".repeat(300_000) + " HTTP/1.1\r\n\r\n");
    assertTrue(target.startsWith("HTTP/1.1 414 "), target);
    assertTrue(target.contains("application/problem+json"), target);
    String header =
        narrow.rawAnswer(
            "GET / HTTP/1.1\r\nHost: localhost\r\nX: " + "a".repeat(40_000) + "\r\n\r\n");
    assertTrue(header.startsWith("HTTP/1.1 431 "), header);
    assertTrue(header.contains("application/problem+json"), header);
  }

  @Test
  void bytesOfAllBodiesTogetherAreBounded() throws Exception {
    try (Socket first = narrow.socket()) {
      String head =
          "PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + VALUE_BYTES_MAX;
      first.getOutputStream().write((head + "\r\n\r\n").getBytes(UTF_8));
      String held = "bodyBytes=" + VALUE_BYTES_MAX + ",";
      Served.await(() -> narrow.get("/v1/stats").json().toString().contains(held));
      Served.Answer second = narrow.put("/v1/keys/b", new byte[1000]);
      second.isProblem(503, "overloaded");
      assertEquals("1", second.header("retry-after"));
      narrow.put("/v1/keys/b", new byte[400]).is(204);
    }
    Served.await(() -> narrow.put("/v1/keys/b", new byte[1000]).status() == 204);
  }

  @Test
  void aBodyThatComesTooSlowlyIsGivenUp() throws Exception {
    String answer =
        hasty.raw("PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx");
    assertTrue(answer.startsWith("HTTP/1.1 408 "), answer);
    assertTrue(answer.contains("urn:kvsep:problem:slow-request"), answer);
    assertNull(hasty.store().get("a".getBytes(UTF_8)));
  }

  @Test
  void whatTakesTooLongItselfWasNoSlowRequest() {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    HttpOptions options =
        HttpOptions.builder().limits(with(limits -> limits.requestMillis = 1_000)).build();
    try (Served served = Served.at(folder, options, blocking("sync", entered, mayGoOn))) {
      try {
        served.delete("/v1/keys/a", "Kvsep-Durability", "sync").isProblem(503, "timeout");
        assertEquals(0, entered.getCount());
      } finally {
        mayGoOn.countDown();
      }
    }
  }

  /** One that gives a request hardly any time but that of its bytes. */
  private Served timingBytes() {
    return served(
        folder,
        limits -> {
          limits.requestMillis = 300;
          limits.bytesPerSecond = 1;
        });
  }

  @Test
  void longDocumentsHaveTheTimeThatTheirBytesTake() throws Exception {
    String batch = "{\"op\":\"put\",\"key\":\"a\",\"value\":\"" + "v".repeat(100) + "\"}";
    String head = "POST /v1/batch HTTP/1.1\r\nHost: localhost\r\n";
    try (Served served = timingBytes();
        Socket slow = served.socket()) {
      slow.getOutputStream()
          .write(
              (head + "Content-Length: " + batch.length() + "\r\n\r\n" + batch.substring(0, 60))
                  .getBytes(UTF_8));
      String unannounced = served.raw(head + "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n");
      assertTrue(unannounced.startsWith("HTTP/1.1 408 "), unannounced);
      slow.getOutputStream().write(batch.substring(60).getBytes(UTF_8));
      assertEquals("HTTP/1.1 200", new String(slow.getInputStream().readNBytes(12), UTF_8));
    }
  }

  @Test
  void aLongBodyThatDoesNotComeHasNoMoreTimeThanAShortOne() throws Exception {
    try (Served served = timingBytes()) {
      String answer =
          served.raw(
              "PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\n\r\nx");
      assertTrue(answer.startsWith("HTTP/1.1 408 "), answer);
      Served.await(() -> served.get("/v1/stats").json().toString().contains("bodyBytes=0,"));
    }
  }

  @Test
  void bodiesOfWhatMayTakeAnyTimeMayNot() throws Exception {
    String answer =
        hasty.raw(
            "POST /v1/admin/checkpoint HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{");
    assertTrue(answer.startsWith("HTTP/1.1 408 "), answer);
  }

  @Test
  void aReaderThatStandsStillIsCutOff() throws Exception {
    for (int i = 0; i < 30; i++) {
      hasty.store().put(("k" + i).getBytes(UTF_8), new byte[1 << 20]);
    }
    try (Socket slow = hasty.socket()) {
      slow.getOutputStream()
          .write("GET /v1/scan HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(UTF_8));
      assertEquals('H', slow.getInputStream().read());
      Served.await(() -> hasty.store().stats().openCursors() == 0);
    }
  }

  @Test
  void connectionsThatAskNothingAreClosed() throws Exception {
    try (Socket silent = hasty.socket();
        Socket halfway = hasty.socket()) {
      halfway.getOutputStream().write("GET / HT".getBytes(UTF_8));
      assertEquals(-1, silent.getInputStream().read());
      assertEquals(-1, halfway.getInputStream().read());
    }
  }

  @Test
  void aBodyThatDripsBehindItsAnswerIsGivenUp() throws Exception {
    String head = "POST /nothing HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n";
    try (Socket dripping = hasty.socket()) {
      dripping.getOutputStream().write(head.getBytes(UTF_8));
      assertEquals("HTTP/1.1 404", new String(dripping.getInputStream().readNBytes(12), UTF_8));
      dripping.setSoTimeout(150);
      assertTrue(endsWhileItDrips(dripping));
    }
  }

  /** Sends a byte whenever nothing has come for half of the idle time, for some seconds at most. */
  private static boolean endsWhileItDrips(Socket socket) throws IOException {
    byte[] answer = new byte[1000];
    int drips = 0;
    while (drips < 60) {
      try {
        if (socket.getInputStream().read(answer) < 0) {
          return true;
        }
      } catch (SocketTimeoutException e) {
        drips++;
        if (!sends(socket)) {
          return true;
        }
      } catch (IOException e) {
        // Reset, since it was closed with bytes on their way.
        return true;
      }
    }
    return false;
  }

  private static boolean sends(Socket socket) {
    try {
      socket.getOutputStream().write('x');
      return true;
    } catch (IOException e) {
      return false;
    }
  }

  @Test
  void connectionsBeyondTheLimitAreClosed() throws Exception {
    try (Served served = served(folder, limits -> limits.connections = 2)) {
      List<Socket> open = new ArrayList<>();
      try {
        for (int i = 0; i < 2; i++) {
          Socket socket = served.socket();
          open.add(socket);
          ask(socket);
        }
        try (Socket third = served.socket()) {
          assertTrue(isRefused(third));
        }
        ask(open.get(0));
      } finally {
        for (Socket socket : open) {
          socket.close();
        }
      }
    }
  }

  private static void ask(Socket socket) throws IOException {
    OutputStream output = socket.getOutputStream();
    output.write("HEAD /health HTTP/1.1\r\nHost: localhost\r\n\r\n".getBytes(UTF_8));
    byte[] start = socket.getInputStream().readNBytes(9);
    assertEquals("HTTP/1.1 ", new String(start, UTF_8));
    while (socket.getInputStream().available() > 0) {
      assertTrue(socket.getInputStream().read() >= 0);
    }
  }

  private static boolean isRefused(Socket socket) throws IOException {
    try {
      return socket.getInputStream().read() < 0;
    } catch (IOException e) {
      return true;
    }
  }

  @Test
  void requestsBeyondTheLimitAreRefusedAndAStopWaitsForThoseUnderWay() throws Exception {
    CountDownLatch entered = new CountDownLatch(2);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    HttpOptions options = HttpOptions.builder().limits(with(limits -> limits.requests = 2)).build();
    ExecutorService clients = Executors.newFixedThreadPool(3);
    Served served = Served.at(folder, options, blocking("putVersioned", entered, mayGoOn));
    int port = served.port();
    try {
      Future<Served.Answer> first = clients.submit(() -> served.put("/v1/keys/a", "x"));
      Future<Served.Answer> second = clients.submit(() -> served.put("/v1/keys/b", "x"));
      entered.await();
      served.put("/v1/keys/c", "x").isProblem(503, "overloaded");

      CompletableFuture<Void> stop = CompletableFuture.runAsync(served.front()::close, clients);
      assertFalse(stop.isDone());
      mayGoOn.countDown();
      assertEquals(204, first.get().status());
      assertEquals(204, second.get().status());
      stop.get();
      assertTrue(served.store().stats().syncs() > 0);
      InetAddress here = InetAddress.getLoopbackAddress();
      assertThrows(IOException.class, () -> new Socket(here, port).close());
    } finally {
      mayGoOn.countDown();
      clients.shutdown();
      served.close();
    }
  }

  /** A store in which calls of one name wait. */
  static UnaryOperator<KvStore> blocking(
      String name, CountDownLatch entered, CountDownLatch mayGoOn) {
    return store ->
        (KvStore)
            Proxy.newProxyInstance(
                KvStore.class.getClassLoader(),
                new Class<?>[] {KvStore.class},
                (proxy, method, arguments) -> {
                  if (method.getName().equals(name)) {
                    entered.countDown();
                    mayGoOn.await();
                  }
                  try {
                    return method.invoke(store, arguments);
                  } catch (InvocationTargetException e) {
                    throw e.getCause();
                  }
                });
  }

  @Test
  void timesThatNoTimerCanHaveAreRefused() {
    List<Duration> wrong =
        List.of(
            Duration.ofSeconds(Long.MAX_VALUE),
            Duration.ofSeconds(Long.MIN_VALUE),
            Duration.ofMillis(Integer.MAX_VALUE + 1L),
            Duration.ZERO);
    for (Duration time : wrong) {
      IllegalArgumentException all =
          assertThrows(
              IllegalArgumentException.class,
              () -> new HttpLimits(1, 1, 1, 1, 1, 1, time, time, time, time, 1));
      String names = ".*requestTime.*idleTime.*scanTime.*heartbeatTime.*";
      assertTrue(String.valueOf(all.getMessage()).matches(names), all.getMessage());
    }
  }

  @Test
  void optionsThatDoNotGoTogetherAreRefused() throws Exception {
    HttpOptions.Builder everywhere = HttpOptions.builder().bind(InetAddress.getByName("0.0.0.0"));
    assertThrows(IllegalArgumentException.class, everywhere::build);
    everywhere.token("long-enough").build();
    assertThrows(IllegalArgumentException.class, () -> HttpOptions.builder().token("x").build());
    assertThrows(
        IllegalArgumentException.class,
        () -> HttpOptions.builder().token("with space in it").build());
    assertThrows(IllegalArgumentException.class, () -> HttpOptions.builder().port(-1).build());
    IllegalArgumentException all =
        assertThrows(
            IllegalArgumentException.class,
            () ->
                with(
                    limits -> {
                      limits.valueBytes = 0;
                      limits.requests = -1;
                    }));
    assertTrue(String.valueOf(all.getMessage()).matches(".*valueBytesMax.*requestsMax.*"));
  }
}
