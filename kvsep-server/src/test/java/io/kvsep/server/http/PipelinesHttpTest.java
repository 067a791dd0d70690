package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.net.Socket;
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
