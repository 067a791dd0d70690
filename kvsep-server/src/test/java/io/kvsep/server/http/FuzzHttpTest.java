package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.OutputStream;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Bytes that are no requests, or nearly none, beside a connection that goes on. */
final class FuzzHttpTest {
  private static final String REST = " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n";
  private static final String[] REQUESTS = {
    "GET /v1/keys/kept-by-all" + REST + "\r\n",
    "PUT /v1/keys/zz" + REST + "Content-Length: 5\r\n\r\nhello",
    "PUT /v1/keys/zz" + REST + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST /v1/batch"
        + REST
        + "Content-Length: 42\r\n\r\n{\"op\":\"put\",\"key\":\"zz\",\"value\":\"0123456\"}\n",
    "GET /v1/scan?from64=AA&limit=3" + REST + "\r\n",
    "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0\0\0\4\1\0\0\0\0\0\0\0\0\0\0\0",
    "DELETE /v1/keys/zz" + REST + "If-Match: \"x\"\r\n\r\n",
  };

  @TempDir Path folder;

  @Test
  void malformedRequestsHurtNoOtherClient() {
    HttpOptions options =
        HttpOptions.builder()
            .limits(
                LimitsHttpTest.with(
                    limits -> {
                      limits.requestMillis = 2000;
                      limits.idleMillis = 2000;
                    }))
            .build();
    try (Served served = Served.at(folder, options)) {
      served.put("/v1/keys/kept-by-all", "kept").is(204);
      Seeds.each(FuzzHttpTest.class, 150, random -> disturb(served, random));
      assertEquals("kept", served.get("/v1/keys/kept-by-all").is(200).text());
      Served.await(() -> served.store().stats().openCursors() == 0);
    }
  }

  private static void disturb(Served served, Random random) throws IOException {
    byte[] bytes = mutated(random);
    String answer = "";
    try (Socket socket = served.socket()) {
      OutputStream output = socket.getOutputStream();
      output.write(bytes);
      socket.shutdownOutput();
      answer = new String(socket.getInputStream().readAllBytes(), UTF_8);
    } catch (IOException e) {
      // The server may close in the middle of it.
      assertFalse(e instanceof SocketTimeoutException, "neither answer nor end");
    }
    assertFalse(answer.contains("\tat "), answer);
    assertFalse(answer.contains("urn:kvsep:problem:internal"), answer);
    assertEquals("kept", served.get("/v1/keys/kept-by-all").is(200).text());
  }

  private static byte[] mutated(Random random) {
    if (random.nextInt(8) == 0) {
      byte[] noise = new byte[random.nextInt(2000)];
      random.nextBytes(noise);
      return noise;
    }
    byte[] bytes = REQUESTS[random.nextInt(REQUESTS.length)].getBytes(ISO_8859_1);
    for (int i = random.nextInt(6); i >= 0; i--) {
      int at = random.nextInt(bytes.length);
      switch (random.nextInt(4)) {
        case 0 -> bytes[at] = (byte) random.nextInt(256);
        case 1 -> bytes[at] ^= (byte) (1 << random.nextInt(8));
        case 2 -> bytes = Arrays.copyOf(bytes, Math.max(1, at));
        default -> {
          byte[] longer = Arrays.copyOf(bytes, bytes.length + 20);
          System.arraycopy(bytes, at, longer, at + 20, bytes.length - at);
          bytes = longer;
        }
      }
    }
    return bytes;
  }
}
