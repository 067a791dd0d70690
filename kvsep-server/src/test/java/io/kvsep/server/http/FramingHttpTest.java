package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Where one request ends and the next one begins, which a sender must not be able to fake. */
@Timeout(120)
final class FramingHttpTest extends SharedServer {
  static final String SMUGGLED =
      "PUT /v1/keys/smuggled HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";

  private static final String CHUNKS = "5\r\nhello\r\n0\r\n\r\n";
  private static final String GET = "GET /v1/keys/k HTTP/1.1\r\nHost: localhost\r\n\r\n";
  private static final String LAST =
      "GET /v1/keys/k HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";

  static String put(String headers, String rest) {
    return "PUT /v1/keys/k HTTP/1.1\r\nHost: localhost\r\n" + headers + "\r\n\r\n" + rest;
  }

  @Test
  void bodiesOfAnEncodingThatIsNotKnownAreNoRequests() throws IOException {
    served.put("/v1/keys/k", "old").is(204);
    for (String encoding :
        List.of(
            "Transfer-Encoding: gzip",
            "Transfer-Encoding: xchunked",
            "Transfer-Encoding: \"chunked\"",
            "Transfer-Encoding: gzip, chunked",
            "Transfer-Encoding: chunked, gzip",
            "Transfer-Encoding: chunked, chunked",
            "Transfer-Encoding: identity",
            "Transfer-Encoding:",
            "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            "Transfer-Encoding: gzip\r\nContent-Length: 0",
            "Transfer-Encoding: gzip\r\nConnection: Upgrade, HTTP2-Settings"
                + "\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAAP__")) {
      refused(served, put(encoding, SMUGGLED));
    }
    assertArrayEquals("old".getBytes(UTF_8), served.store().get("k".getBytes(UTF_8)));
  }

  static void refused(Served server, String request) throws IOException {
    String answer = server.raw(request);
    assertRefused(server, request, answer);
  }

  static void assertRefused(Served server, String request, String answer) {
    assertTrue(answer.startsWith("HTTP/1.1 400 "), () -> request + "\n" + answer);
    assertTrue(answer.contains("urn:kvsep:problem:malformed-request"), answer);
    assertEquals(1, answer.split("HTTP/1.1 ", -1).length - 1, answer);
    assertNull(server.store().get("smuggled".getBytes(UTF_8)), request);
  }

  @Test
  void chunksAreTakenHoweverTheyAreSpelled() throws IOException {
    for (String name : List.of("chunked", "Chunked", "CHUNKED", "  chunked  ")) {
      served.empty();

      String answers = served.raw(put("Transfer-Encoding:" + name, CHUNKS) + LAST);

      assertTrue(answers.startsWith("HTTP/1.1 204 "), answers);
      assertTrue(answers.contains("HTTP/1.1 200 ") && answers.endsWith("hello"), answers);
    }
  }

  /** However the first bytes come in, by which the library tells HTTP/2 from HTTP/1.1. */
  @Test
  void requestsInOnePacketAndInManyAreAllChecked() throws IOException {
    String good = put("Content-Length: 3", "old") + GET;
    String bad = put("Transfer-Encoding: gzip", SMUGGLED);

    for (int first = 1; first < 30; first++) {
      served.empty();
      String answers = inTwo(good + bad, first);
      assertTrue(answers.startsWith("HTTP/1.1 204 "), answers);
      assertTrue(answers.contains("HTTP/1.1 200 ") && answers.contains("old"), answers);
      assertTrue(answers.contains("HTTP/1.1 400 "), answers);
      assertEquals(4, answers.split("HTTP/1.1 ", -1).length, answers);
      assertTrue(inTwo(bad, first).startsWith("HTTP/1.1 400 "));
      assertNull(served.store().get("smuggled".getBytes(UTF_8)));
      assertNotNull(served.store().get("k".getBytes(UTF_8)));
    }
  }

  private static String inTwo(String request, int first) throws IOException {
    byte[] bytes = request.getBytes(UTF_8);
    try (Socket socket = served.socket()) {
      socket.setTcpNoDelay(true);
      OutputStream output = socket.getOutputStream();
      output.write(bytes, 0, first);
      // A round trip of another client, in which the server could have read that.
      served.get("/health").is(200);
      output.write(bytes, first, bytes.length - first);
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    }
  }

  /** Else a client that reads to the end would wait, or could send no more of a long body. */
  @Test
  void theOutputEndsBehindTheLastAnswerAndTheInputLater() throws IOException {
    byte[] body = new byte[100_000];
    String head =
        "POST /nothing HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: ";
    try (Socket socket = served.socket()) {
      socket.getOutputStream().write((head + 20 * body.length + "\r\n\r\n").getBytes(UTF_8));
      String answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
      assertTrue(answer.startsWith("HTTP/1.1 404 "), answer);
      for (int i = 0; i < 20; i++) {
        socket.getOutputStream().write(body);
      }
    }
  }

  @Test
  void aRequestNamesOneHost() throws IOException {
    served.put("/v1/keys/k", "old").is(204);
    refused(served, "GET /v1/keys/k HTTP/1.1\r\n\r\n" + SMUGGLED);
    for (String hosts :
        List.of(
            "Host: localhost\r\nHost: evil.test\r\n",
            "Host: evil.test\r\nHost: localhost\r\n",
            "Host: localhost\r\nHost: localhost\r\n")) {
      refused(served, "GET /v1/keys/k HTTP/1.1\r\n" + hosts + "\r\n" + SMUGGLED);
      refused(served, "GET /v1/keys/k HTTP/1.0\r\n" + hosts + "\r\n" + SMUGGLED);
    }
    assertTrue(
        served.raw("GET /v1/keys/k HTTP/1.0\r\nHost: localhost\r\n\r\n").endsWith("\r\n\r\nold"));
  }

  @Test
  void clientsStillGoOverToHttp2() throws Exception {
    HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_2).build();
    HttpRequest.Builder request = HttpRequest.newBuilder(served.uri("/v1/keys/k"));
    for (int i = 0; i < 3; i++) {
      HttpResponse<String> put =
          client.send(
              request.PUT(BodyPublishers.ofString("v" + i)).build(), BodyHandlers.ofString());
      assertEquals(204, put.statusCode());
      HttpResponse<String> get = client.send(request.GET().build(), BodyHandlers.ofString());
      assertEquals("v" + i, get.body());
      assertEquals(HttpClient.Version.HTTP_2, get.version());
    }
    byte[] preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0".getBytes(UTF_8);
    try (Socket socket = served.socket()) {
      for (byte next : preface) {
        socket.getOutputStream().write(next);
      }
      // The settings of the other side: nine bytes of a frame's head, with its type the fourth.
      assertEquals(4, socket.getInputStream().readNBytes(9)[3]);
    }
  }

  @Test
  void chunksAreNoneOfAnOlderVersion() throws IOException {
    String line = "PUT /v1/keys/k HTTP/1.0\r\nHost: localhost\r\n";
    refused(served, line + "Transfer-Encoding: chunked\r\n\r\n" + CHUNKS);
    assertNull(served.store().get("k".getBytes(UTF_8)));
  }
}
