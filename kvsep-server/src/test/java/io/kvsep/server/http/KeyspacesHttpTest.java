package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.net.Socket;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What goes on while a keyspace is made or dropped, which may take long. */
final class KeyspacesHttpTest {
  private static final String GET_UNKNOWN =
      "GET /v1/keyspaces/unknown/keys/k HTTP/1.1\r\nHost: localhost\r\n\r\n";

  @TempDir Path folder;

  @Test
  void aClientThatWaitsForADropHoldsUpNoOther() throws Exception {
    CountDownLatch entered = new CountDownLatch(1);
    CountDownLatch mayGoOn = new CountDownLatch(1);
    HttpOptions options = HttpOptions.builder().build();
    List<Socket> waiting = new ArrayList<>();
    try (Served served =
        Served.at(folder, options, LimitsHttpTest.blocking("dropKeyspace", entered, mayGoOn))) {
      try {
        served.put("/v1/keyspaces/dropped", "").is(201);
        served.put("/v1/keyspaces/known", "").is(201);
        served.put("/v1/keyspaces/known/keys/k", "v").is(204);
        // The server has not been asked for this one, and has to look.
        served.store().in(served.store().keyspace("unknown")).put(new byte[] {'k'}, new byte[1]);
        CompletableFuture<Served.Answer> drop =
            CompletableFuture.supplyAsync(() -> served.delete("/v1/keyspaces/dropped"));
        entered.await();

        // More than there are event loops, so that each has some.
        for (int i = 0; i < 6; i++) {
          Socket socket = served.socket();
          waiting.add(socket);
          socket.getOutputStream().write(GET_UNKNOWN.getBytes(UTF_8));
        }
        for (int i = 0; i < 6; i++) {
          served.get("/health").is(200);
          served.get("/v1/keyspaces/known/keys/k").is(200);
          served.get("/v1/keyspaces/none/keys/k").isProblem(404, "no-such-keyspace");
        }
        assertFalse(drop.isDone());
        mayGoOn.countDown();
        drop.get().is(204);
        for (Socket socket : waiting) {
          byte[] status = socket.getInputStream().readNBytes(12);
          assertEquals("HTTP/1.1 200", new String(status, UTF_8));
        }
      } finally {
        mayGoOn.countDown();
        for (Socket socket : waiting) {
          socket.close();
        }
      }
    }
  }
}
