package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.KvStore;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

final class NoteServerTest {
  private final HttpClient client = HttpClient.newHttpClient();
  private KvStore store;
  private NoteServer server;

  @BeforeEach
  void start() throws IOException {
    store = KvStore.inMemory();
    server = new NoteServer(store, 0);
  }

  @AfterEach
  void stop() {
    server.stop(0);
    store.close();
  }

  @Test
  void notesAreStoredReadAndDeleted() throws Exception {
    assertEquals(404, send(note("a").GET()).statusCode());
    assertEquals(204, send(note("a").PUT(BodyPublishers.ofString("tea"))).statusCode());
    assertEquals("tea", send(note("a").GET()).body());
    assertEquals(204, send(note("empty").PUT(BodyPublishers.noBody())).statusCode());
    assertEquals("", send(note("empty").GET()).body());
    assertEquals(204, send(note("a").DELETE()).statusCode());
    assertEquals(404, send(note("a").GET()).statusCode());
  }

  @Test
  void aKnownVersionIsNotSentAgain() throws Exception {
    String tag = tag(send(note("a").PUT(BodyPublishers.ofString("tea"))));

    assertEquals(tag, tag(send(note("a").GET())));
    assertEquals(304, send(note("a").header("If-None-Match", tag).GET()).statusCode());
    send(note("a").PUT(BodyPublishers.ofString("tea")));
    assertEquals(200, send(note("a").header("If-None-Match", tag).GET()).statusCode());
  }

  @Test
  void whatCannotBeDoneHasItsStatus() throws Exception {
    assertEquals(400, send(note("").PUT(BodyPublishers.ofString("no name"))).statusCode());
    assertEquals(405, send(note("a").POST(BodyPublishers.noBody())).statusCode());
    assertEquals(
        413, send(note("a").PUT(BodyPublishers.ofByteArray(new byte[1_100_000]))).statusCode());
    store.close();
    assertEquals(503, send(note("a").GET()).statusCode());
  }

  private HttpRequest.Builder note(String name) {
    return HttpRequest.newBuilder(
        URI.create("http://localhost:" + server.port() + "/notes/" + name));
  }

  private HttpResponse<String> send(HttpRequest.Builder request)
      throws IOException, InterruptedException {
    return client.send(request.build(), BodyHandlers.ofString());
  }

  private static String tag(HttpResponse<String> response) {
    return response.headers().firstValue("ETag").orElse("none");
  }
}
