package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Clients that send requests without waiting for the answers of those before. */
@Timeout(120)
final class PipelinesHttpTest extends SharedServer {
  private static final Pattern ANSWER =
      Pattern.compile("HTTP/1\\.1 (\\d{3}).*?\r\n\r\n(<[^>]*>)?", Pattern.DOTALL);

  @Test
  void whatIsReadIsWhatWasWrittenBefore() throws Exception {
    StringBuilder requests = new StringBuilder();
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < 500; i++) {
      String value = "<value " + i + ">";
      requests.append("PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: ");
      requests.append(value.length()).append("\r\n\r\n").append(value);
      requests.append("GET /v1/keys/a HTTP/1.1\r\nHost: localhost\r\n\r\n");
      expected.add("204 null");
      expected.add("200 " + value);
    }
    requests.append("GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    expected.add("404 null");

    assertEquals(expected, answers(served.raw(requests.toString())));
  }

  /** Each answer costs the server more than its request costs the client. */
  @Test
  void unreadAnswersHoldUpWhatIsBehindThem() throws Exception {
    // The second answer is long, so that few of them fill the buffers of both sockets.
    served.store().put("long".getBytes(UTF_8), "v".repeat(10_000).getBytes(UTF_8));
    byte[] pair =
        ("PUT /v1/keys/a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nPadding: "
                + "p".repeat(1000)
                + "\r\n\r\nx"
                + "GET /v1/keys/long HTTP/1.1\r\nHost: localhost\r\n\r\n")
            .getBytes(UTF_8);
    int enough = 50_000;
    long commits = served.store().stats().commits();
    try (SocketChannel client = SocketChannel.open()) {
      client.setOption(StandardSocketOptions.SO_RCVBUF, 4096);
      client.setOption(StandardSocketOptions.SO_SNDBUF, 4096);
      client.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), served.port()));
      client.configureBlocking(false);
      ByteBuffer request = ByteBuffer.wrap(pair);
      int sent = 0;
      int refusals = 0;
      while (sent < enough && refusals < 500) {
        if (client.write(request) == 0) {
          // A round trip of another client, in which the server could have gone on.
          served.get("/v1/keys/none").is(404);
          refusals++;
        } else {
          refusals = 0;
        }
        if (!request.hasRemaining()) {
          request.rewind();
          sent++;
        }
      }
      assertTrue(sent < enough, "all are carried out, and no answer was read");

      ByteBuffer rest = ByteBuffer.allocate(2 * pair.length);
      rest.put(request);
      rest.put(
          "GET /none HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".getBytes(UTF_8));
      List<String> expected = new ArrayList<>();
      for (int i = 0; i <= sent; i++) {
        expected.addAll(List.of("204 null", "200 null"));
      }
      expected.add("404 null");
      assertEquals(expected, answers(exchange(client, rest.flip())));
      assertEquals(commits + sent + 1, served.store().stats().commits());
    }
  }

  /** Sends, and reads until the server closes. */
  private static String exchange(SocketChannel client, ByteBuffer request) throws IOException {
    StringBuilder text = new StringBuilder();
    ByteBuffer read = ByteBuffer.allocate(1 << 16);
    while (client.read(read) >= 0) {
      text.append(UTF_8.decode(read.flip()));
      read.clear();
      if (request.hasRemaining()) {
        client.write(request);
      }
    }
    return text.toString();
  }

  private static List<String> answers(String text) {
    List<String> answers = new ArrayList<>();
    Matcher matcher = ANSWER.matcher(text);
    while (matcher.find()) {
      answers.add(matcher.group(1) + " " + matcher.group(2));
    }
    return answers;
  }

  @Test
  void longBodiesBehindOthersComeInWhole() throws Exception {
    byte[] value = new byte[5 << 20];
    new Random(7).nextBytes(value);
    String put = "PUT /v1/keys/%s HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + value.length;
    try (Socket socket = served.socket()) {
      Thread sender =
          new Thread(
              () -> {
                try {
                  for (String key : List.of("a", "b", "c")) {
                    socket
                        .getOutputStream()
                        .write((put.formatted(key) + "\r\n\r\n").getBytes(UTF_8));
                    socket.getOutputStream().write(value);
                  }
                } catch (IOException e) {
                  throw new IllegalStateException(e);
                }
              });
      sender.start();
      StringBuilder text = new StringBuilder();
      while (answers(text.toString()).size() < 3) {
        text.append((char) socket.getInputStream().read());
      }
      assertEquals(List.of("204 null", "204 null", "204 null"), answers(text.toString()));
      sender.join();
    }
    for (String key : List.of("a", "b", "c")) {
      assertArrayEquals(value, served.store().get(key.getBytes(UTF_8)));
    }
  }
}
