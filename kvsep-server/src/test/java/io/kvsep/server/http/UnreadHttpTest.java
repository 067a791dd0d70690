package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Clients that do not read answers of one piece, and such that are slow. */
@Timeout(60)
final class UnreadHttpTest {
  private static final int REQUESTS = 200;
  private static final int VALUE_BYTES = 100 << 10;
  private static final String ASK = "GET /v1/keys/%s HTTP/1.1\r\nHost: localhost\r\n\r\n";

  @TempDir Path folder;
  private Served served;

  private void serve(Consumer<LimitsHttpTest.Draft> change) {
    HttpLimits limits = LimitsHttpTest.with(change);
    served = Served.at(folder, HttpOptions.builder().limits(limits).build());
  }

  @BeforeEach
  void serve() {
    serve(
        limit -> {
          limit.requestMillis = 1_000;
          limit.bytesPerSecond = 1 << 30;
        });
    served.store().put("long".getBytes(UTF_8), new byte[VALUE_BYTES]);
    served.store().put("short".getBytes(UTF_8), new byte[10_000]);
  }

  @AfterEach
  void close() {
    served.close();
  }

  private void awaitCut() {
    Served.await(() -> served.front().openConnections() == 1);
    Served.await(() -> served.front().openConnections() == 0);
  }

  private Socket narrow() throws IOException {
    Socket socket = new Socket();
    socket.setReceiveBufferSize(4096);
    socket.connect(served.front().address());
    socket.setSoTimeout(20_000);
    return socket;
  }

  @Test
  void anUnreadPipelineIsCut() throws Exception {
    try (Socket socket = narrow()) {
      socket.getOutputStream().write(ASK.formatted("long").repeat(REQUESTS).getBytes(UTF_8));
      awaitCut();
      assertTrue(readToEnd(socket.getInputStream()) < (long) REQUESTS * VALUE_BYTES);
    }
  }

  /** How many bytes came until the end, be it a reset. */
  private static long readToEnd(InputStream input) {
    long count = 0;
    byte[] buffer = new byte[1 << 16];
    try {
      int read = input.read(buffer);
      while (read >= 0) {
        count += read;
        read = input.read(buffer);
      }
    } catch (SocketTimeoutException e) {
      throw new AssertionError("it is still open", e);
    } catch (IOException e) {
      // Reset, since it was closed with bytes on their way.
    }
    return count;
  }

  @Test
  void streamsWithoutAWindowAreCut() throws Exception {
    try (Socket socket = narrow()) {
      Frames frames = new Frames(socket, 0);
      for (int i = 0; i < 50; i++) {
        frames.get(2 * i + 1, i % 2 == 0 ? "/v1/keys/short" : "/v1/keys/long");
      }
      awaitCut();
      assertTrue(readToEnd(socket.getInputStream()) < VALUE_BYTES);
    }
  }

  @Test
  void whoHasMostIsCutWhenThereIsTooMuch() throws Exception {
    served.close();
    serve(
        limit -> {
          limit.valueBytes = 1 << 20;
          limit.bodiesBytes = 1 << 20;
        });
    try (Socket modest = narrow();
        Socket greedy = narrow()) {
      Frames few = new Frames(modest, 0);
      few.get(1, "/v1/keys/long");
      awaitHead(few, 1);
      Frames many = new Frames(greedy, 0);
      askMany(many, 1, 50, "/v1/keys/long");
      Served.await(() -> served.front().openConnections() == 1);
      readToEnd(greedy.getInputStream());
      few.get(3, "/v1/keys/long");
      awaitHead(few, 3);
    }
  }

  /** Headers that stand behind a full socket hold their answers back in the library. */
  @Test
  void answersBehindAFullSocketCount() throws Exception {
    served.close();
    serve(limit -> limit.bodiesBytes = 1 << 20);
    served.store().put("longer".getBytes(UTF_8), new byte[24 << 20]);
    try (Socket silent = narrow()) {
      Frames frames = new Frames(silent, Integer.MAX_VALUE);
      frames.widen(1 << 30);
      frames.get(1, "/v1/keys/longer");
      // Meanwhile the socket has become full, or does so with what follows.
      for (int i = 0; i < 100; i++) {
        served.get("/v1/keys/short").is(200);
      }
      askMany(frames, 3, 100, "/v1/keys/long");
      Served.await(() -> served.front().openConnections() == 1);
    }
  }

  /** Until it is cut. */
  private static void askMany(Frames frames, int first, int count, String path) {
    try {
      for (int i = 0; i < count; i++) {
        frames.get(first + 2 * i, path);
      }
    } catch (IOException e) {
      // Cut already.
    }
  }

  /** As if the store had keyspaces whose names take so many bytes. */
  private void serveNames(int bytes, Consumer<LimitsHttpTest.Draft> change) {
    served.close();
    List<String> names = Collections.nCopies(bytes / 1000, "n".repeat(997));
    HttpOptions options = HttpOptions.builder().limits(LimitsHttpTest.with(change)).build();
    served = Served.at(folder, options, store -> withNames(store, names));
  }

  private static KvStore withNames(KvStore store, List<String> names) {
    InvocationHandler handler =
        (proxy, method, arguments) -> {
          if (method.getName().equals("keyspaces")) {
            return names;
          }
          try {
            return method.invoke(store, arguments);
          } catch (InvocationTargetException e) {
            throw e.getCause();
          }
        };
    ClassLoader loader = KvStore.class.getClassLoader();
    return (KvStore) Proxy.newProxyInstance(loader, new Class<?>[] {KvStore.class}, handler);
  }

  @Test
  void aLongAnswerOfOnePieceCountsWithAllItsBytes() throws Exception {
    serveNames(600_000, limit -> limit.bodiesBytes = 1 << 20);
    try (Socket silent = narrow()) {
      askMany(new Frames(silent, 0), 1, 2, "/v1/keyspaces");
      awaitCut();
    }
  }

  @Test
  void aLongAnswerOfOnePieceHasTheTimeThatItsBytesTake() throws Exception {
    int bytes = 6_000_000;
    serveNames(
        bytes,
        limit -> {
          limit.requestMillis = 2_000;
          limit.bytesPerSecond = 1 << 19;
        });
    try (Socket slow = narrow()) {
      Frames frames = new Frames(slow, 0);
      frames.get(1, "/v1/keyspaces");
      awaitHead(frames, 1);
      // Twice the time that a piece has.
      long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(4_500);
      while (System.nanoTime() < end) {
        LockSupport.parkNanos(end - System.nanoTime());
      }
      assertEquals(1, served.front().openConnections());
    }
  }

  private static void awaitHead(Frames frames, int stream) throws IOException {
    Frames.Frame frame = frames.next();
    while (frame.type() != Frames.HEADERS || frame.stream() != stream) {
      frame = frames.next();
    }
    assertEquals(Frames.OK, frame.payload()[0]);
  }

  @Test
  void aSlowReaderGetsEverything() throws Exception {
    int count = 30;
    try (Socket socket = narrow()) {
      socket.getOutputStream().write(ASK.formatted("long").repeat(count).getBytes(UTF_8));
      InputStream input = socket.getInputStream();
      long values = 0;
      for (int i = 0; i < count; i++) {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
          head.append((char) input.read());
        }
        values += input.readNBytes(VALUE_BYTES).length;
        // One and a half times the limit, all in all.
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(50);
        while (System.nanoTime() < end) {
          LockSupport.parkNanos(end - System.nanoTime());
        }
      }
      assertEquals((long) count * VALUE_BYTES, values);
    }
  }
}
