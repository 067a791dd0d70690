package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import io.kvsep.Snapshot;
import io.kvsep.server.json.JsonText;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Long values are read as a whole before they go out, and nothing short waits for that. */
@Timeout(60)
final class LongValuesHttpTest {
  /** More than the server has threads. */
  private static final int CLIENTS = 100;

  private static final byte[] LONG = new byte[2 << 20];

  static {
    new Random(3).nextBytes(LONG);
  }

  @TempDir Path folder;

  private static Served served(Path folder, CountDownLatch entered, CountDownLatch mayGoOn) {
    return Served.at(
        folder,
        HttpOptions.builder().build(),
        store -> wrapped(KvStore.class, store, entered, mayGoOn));
  }

  /** Long values are read when they may be. */
  @SuppressWarnings("unchecked") // The proxy is of that type.
  private static <T> T wrapped(
      Class<T> type, T target, CountDownLatch entered, CountDownLatch mayGoOn) {
    ClassLoader loader = KvStore.class.getClassLoader();
    return (T)
        Proxy.newProxyInstance(
            loader,
            new Class<?>[] {type},
            (proxy, method, arguments) -> {
              if (target instanceof KvCursor cursor
                  && method.getName().equals("valueView")
                  && cursor.valueLength() == LONG.length) {
                entered.countDown();
                mayGoOn.await();
              }
              Object result = invoke(method, target, arguments);
              if (result instanceof KvCursor cursor) {
                return wrapped(KvCursor.class, cursor, entered, mayGoOn);
              } else if (result instanceof Snapshot snapshot) {
                return wrapped(Snapshot.class, snapshot, entered, mayGoOn);
              } else if (result instanceof KvView view) {
                return wrapped(KvView.class, view, entered, mayGoOn);
              }
              return result;
            });
  }

  private static Object invoke(Method method, Object target, Object[] arguments) throws Throwable {
    try {
      return method.invoke(target, arguments);
    } catch (InvocationTargetException e) {
      throw e.getCause();
    }
  }

  @Test
  void shortRequestsDoNotWaitForLongValues() throws Exception {
    CountDownLatch entered = new CountDownLatch(2);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    List<Socket> waiting = new ArrayList<>();
    try (Served served = served(folder, entered, mayGoOn)) {
      try {
        served.put("/v1/keys/a", "short").is(204);
        served.put("/v1/keys/b", new byte[200_000]).is(204);
        served.put("/v1/keys/long", LONG).is(204);
        List<String> slow =
            List.of("/v1/keys/long", "/v1/scan?from=long", "/v1/scan", "/v1/scan?reverse=true");
        for (int i = 0; i < CLIENTS; i++) {
          Socket socket = served.socket();
          waiting.add(socket);
          String request =
              "GET " + slow.get(i % slow.size()) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
          socket.getOutputStream().write(request.getBytes(US_ASCII));
        }
        entered.await();

        served.get("/health").is(200);
        served.put("/v1/keys/c", "x").is(204);
        assertEquals("short", served.get("/v1/keys/a").is(200).text());
        assertEquals(200_000, served.get("/v1/keys/b").is(200).bytes().length);
        assertEquals(LONG.length + "", served.head("/v1/keys/long").header("content-length"));
        served.get("/v1/scan?to=long").is(200);
        served.get("/v1/scan?keysOnly").is(200);
        served.post("/v1/get", "{\"key\":\"a\"}").is(200);
        served.get("/metrics").is(200);

        mayGoOn.countDown();
        for (Socket socket : waiting) {
          byte[] status = socket.getInputStream().readNBytes(12);
          assertEquals("HTTP/1.1 200", new String(status, US_ASCII));
        }
      } finally {
        mayGoOn.countDown();
        for (Socket socket : waiting) {
          socket.close();
        }
      }
    }
  }

  @Test
  void longValuesInARangeComeWholeAndInTheirPlaces() throws Exception {
    CountDownLatch none = new CountDownLatch(0);
    try (Served served = served(folder, none, none)) {
      Map<String, byte[]> expected = new TreeMap<>();
      for (String key : List.of("a", "b", "c", "d", "e", "f")) {
        byte[] value =
            "ace".contains(key) ? LONG : Arrays.copyOf(LONG, key.charAt(0) == 'b' ? 10 : 100_000);
        served.put("/v1/keys/" + key, value).is(204);
        expected.put(key, value);
      }
      for (int limit = 1; limit <= 7; limit++) {
        Map<String, byte[]> found = new TreeMap<>();
        String cursor = "";
        do {
          String lines = served.get("/v1/scan?limit=" + limit + cursor).is(200).text();
          cursor = "";
          for (String line : lines.lines().toList()) {
            Map<String, Object> entry = JsonText.object(line);
            if (entry.get("cursor") != null) {
              cursor = "&cursor=" + entry.get("cursor");
            } else {
              byte[] value = Base64.getDecoder().decode((String) entry.get("value"));
              found.put((String) entry.get("key"), value);
            }
          }
        } while (!cursor.isEmpty());
        assertEquals(expected.keySet(), found.keySet());
        expected.forEach((key, value) -> assertArrayEquals(value, found.get(key), key));
      }
    }
  }
}
