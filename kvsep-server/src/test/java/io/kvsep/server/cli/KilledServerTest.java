package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.exceptions.JedisConnectionException;

/** The death of a server that many clients of both protocols write to. */
final class KilledServerTest {
  private static final int CLIENTS = 5;
  private static final int KEYS = 10;

  /** Of each client, before the server is killed. */
  private static final int WRITES = 100;

  @TempDir Path folder;

  /** Writes one value and returns when it is acknowledged; throws when the server is gone. */
  private interface Connection {
    void set(String key, String value) throws IOException, InterruptedException;
  }

  /** What one client knows: the last value of each of its keys that was acknowledged. */
  private static final class Client {
    final Map<String, Integer> acknowledged = new ConcurrentHashMap<>();
    private final String name;
    private final CountDownLatch enough = new CountDownLatch(WRITES);
    private int tried;

    Client(String name) {
      this.name = name;
    }

    void writeUntilTheEnd(Connection connection) throws InterruptedException {
      try {
        while (true) {
          String key = name + "-" + ++tried % KEYS;
          connection.set(key, Integer.toString(tried));
          acknowledged.put(key, tried);
          enough.countDown();
        }
      } catch (IOException | JedisConnectionException e) {
        assertEquals(0, enough.getCount(), () -> "gone before it was killed: " + e);
      }
    }

    /** Each key has its last value, or one with an unknown fate. */
    void check(KvStore store) {
      acknowledged.forEach(
          (key, last) -> {
            byte[] value = store.get(key.getBytes(UTF_8));
            int found = value == null ? -1 : Integer.parseInt(new String(value, UTF_8));
            assertTrue(
                found == last || (found == tried && tried > last),
                () -> key + " is " + found + ", but " + last + " was acknowledged");
          });
    }
  }

  @Test
  void everythingAcknowledgedIsThereAfterwards() throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(2 * CLIENTS);
    List<Client> clients = new ArrayList<>();
    List<Future<?>> ends = new ArrayList<>();
    try (ServerProcess server = ServerProcess.at(folder.resolve("store"), "--sync", "0")) {
      HttpClient http = HttpClient.newHttpClient();
      for (int i = 0; i < CLIENTS; i++) {
        Client one = new Client("http" + i);
        Client other = new Client("redis" + i);
        clients.add(one);
        clients.add(other);
        ends.add(
            threads.submit(
                () -> {
                  one.writeUntilTheEnd((key, value) -> put(http, server.http(), key, value));
                  return null;
                }));
        ends.add(
            threads.submit(
                () -> {
                  try (Jedis jedis = new Jedis("127.0.0.1", server.redisPort(), 60_000)) {
                    other.writeUntilTheEnd(
                        (key, value) -> assertEquals("OK", jedis.set(key, value)));
                  }
                  return null;
                }));
      }
      for (Client client : clients) {
        assertTrue(client.enough.await(60, TimeUnit.SECONDS), client.name + " wrote too little");
      }
    } finally {
      threads.shutdown();
    }
    for (Future<?> end : ends) {
      end.get();
    }
    try (KvStore store = KvStore.open(folder.resolve("store"))) {
      for (Client client : clients) {
        assertEquals(KEYS, client.acknowledged.size());
        client.check(store);
      }
      assertTrue(store.verify().isSound());
    }
  }

  private static void put(HttpClient client, String server, String key, String value)
      throws IOException, InterruptedException {
    HttpRequest request =
        HttpRequest.newBuilder(URI.create(server + "/v1/keys/" + key))
            .PUT(BodyPublishers.ofString(value))
            .build();
    assertEquals(204, client.send(request, BodyHandlers.discarding()).statusCode());
  }
}
