package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.BufferedReader;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.Socket;
import java.nio.file.Path;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A stop while long requests are under way. */
@Timeout(120)
final class StopHttpTest {
  private static final int ENTRIES = 25;

  @TempDir Path folder;

  @Test
  void whatIsUnderWayComesToItsEnd() throws Exception {
    byte[] value = value(99, 8 << 20);
    try (Served served = Served.at(folder)) {
      fill(served.store());
      try (Socket upload = served.socket();
          EventStream feed = EventStream.of(served.stream("/v1/changes"));
          BufferedReader scan =
              new BufferedReader(new InputStreamReader(served.stream("/v1/scan").body(), UTF_8))) {
        OutputStream body = upload.getOutputStream();
        body.write(head("/v1/keys/long", value.length));
        body.write(value, 0, value.length / 2);
        awaitBody(served, upload, value.length);
        assertEquals('{', scan.read());

        CompletableFuture<Void> stop = CompletableFuture.runAsync(served.front()::close);
        // The first thing that a stop does.
        feed.assertEnds();
        assertFalse(stop.isDone());
        served.put("/v1/keys/new", "x").isProblem(503, "overloaded");
        served.get("/v1/keys/k0").isProblem(503, "overloaded");
        body.write(value, value.length / 2, value.length - value.length / 2);
        String answer = new String(upload.getInputStream().readNBytes(12), UTF_8);
        assertEquals("HTTP/1.1 204", answer);
        assertEquals(ENTRIES, scan.lines().filter(line -> line.endsWith("\"}")).count());
        stop.get();
      }
    }
    try (KvStore store = KvStore.open(folder)) {
      assertArrayEquals(value, store.get(bytes("long")));
      check(store);
    }
  }

  @Test
  void aStoreForReadingOnlyNeedsNoSync() {
    try (KvStore store = KvStore.open(folder)) {
      store.put(bytes("a"), bytes("x"));
    }
    KvStore reading = KvStore.open(folder, KvOptions.builder().readOnly(true).build());
    try (Served served = Served.of(reading, HttpOptions.builder().build())) {
      assertEquals("x", served.get("/v1/keys/a").text());
    }
  }

  @Test
  void whatStandsStillIsEnded() throws Exception {
    HttpLimits limits =
        LimitsHttpTest.with(
            limit -> {
              limit.requestMillis = 500;
              limit.scanMillis = 500;
            });
    try (Served served = Served.at(folder, HttpOptions.builder().limits(limits).build())) {
      fill(served.store());
      try (Socket upload = served.socket();
          Socket scan = served.socket()) {
        scan.getOutputStream().write(bytes("GET /v1/scan HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        assertEquals('H', scan.getInputStream().read());
        upload.getOutputStream().write(head("/v1/keys/long", 1000));
        upload.getOutputStream().write(bytes("the beginning"));
        awaitBody(served, upload, 1000);

        served.front().close();

        Served.await(() -> served.store().stats().openCursors() == 0);
        String answer = new String(upload.getInputStream().readAllBytes(), UTF_8);
        assertTrue(answer.isEmpty() || answer.startsWith("HTTP/1.1 408 "), answer);
      }
    }
    try (KvStore store = KvStore.open(folder)) {
      assertNull(store.get(bytes("long")));
      check(store);
    }
  }

  /** What says farewell over HTTP/2 stands behind what such a client does not read. */
  @Test
  void clientsThatNoLongerReadDoNotHoldItUp() throws Exception {
    HttpLimits limits = LimitsHttpTest.with(limit -> limit.requestMillis = 500);
    try (Served served = Served.at(folder, HttpOptions.builder().limits(limits).build());
        Socket socket = new Socket()) {
      fill(served.store());
      socket.setReceiveBufferSize(4096);
      socket.connect(served.front().address());
      Frames frames = new Frames(socket, Integer.MAX_VALUE);
      frames.widen(1 << 30);
      frames.get(1, "/v1/scan");
      Frames.Frame head = frames.next();
      while (head.type() != Frames.HEADERS) {
        head = frames.next();
      }
      assertEquals(Frames.OK, head.payload()[0]);
      Served.await(() -> served.store().stats().openCursors() == 0);

      served.front().close();
    }
    try (KvStore store = KvStore.open(folder)) {
      check(store);
    }
  }

  private static byte[] head(String path, int length) {
    return bytes(
        "PUT " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + length + "\r\n\r\n");
  }

  /** Until the server is at it, or has given it up already. */
  private static void awaitBody(Served served, Socket upload, int length) throws Exception {
    InputStream answer = upload.getInputStream();
    String held = "\"bodyBytes\":" + length + ",";
    while (answer.available() == 0 && !served.get("/v1/stats").text().contains(held)) {
      Thread.onSpinWait();
    }
  }

  private static void fill(KvStore store) {
    for (int i = 0; i < ENTRIES; i++) {
      store.put(bytes("k" + i), value(i, 1 << 20));
    }
  }

  /** Whole, and closed in the proper way. */
  private static void check(KvStore store) {
    assertEquals(0, store.stats().replayedBytes());
    for (int i = 0; i < ENTRIES; i++) {
      assertArrayEquals(value(i, 1 << 20), store.get(bytes("k" + i)), "entry " + i);
    }
  }

  private static byte[] value(int seed, int length) {
    byte[] value = new byte[length];
    new Random(seed).nextBytes(value);
    return value;
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
