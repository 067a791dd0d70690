package io.kvsep.server.http;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.testing.SelfSigned;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TlsHttpTest {
  @TempDir Path folder;

  @Test
  void everythingWorksEncryptedByHttp2() throws Exception {
    SelfSigned self = SelfSigned.in(folder);
    HttpOptions options =
        HttpOptions.builder().tls(self.certificate(), self.key()).token("correct-horse").build();
    try (Served served = Served.at(folder.resolve("store"), options)) {
      HttpClient client =
          HttpClient.newBuilder()
              .version(HttpClient.Version.HTTP_2)
              .sslContext(self.trusting())
              .build();
      URI uri = URI.create("https://localhost:" + served.port() + "/v1/keys/a%2Fb");
      HttpRequest.Builder request =
          HttpRequest.newBuilder(uri)
              .timeout(Duration.ofSeconds(60))
              .header("Authorization", "Bearer correct-horse");
      byte[] value = new byte[1 << 20];
      HttpResponse<byte[]> put =
          client.send(
              request.PUT(BodyPublishers.ofByteArray(value)).build(), BodyHandlers.ofByteArray());
      assertEquals(204, put.statusCode());
      assertEquals(HttpClient.Version.HTTP_2, put.version());
      HttpResponse<byte[]> get = client.send(request.GET().build(), BodyHandlers.ofByteArray());
      assertEquals(1 << 20, get.body().length);
      assertThrows(UncheckedIOException.class, () -> served.get("/v1/keys/a"));
    }
  }

  @Test
  void requestsAreCheckedEncryptedToo() throws Exception {
    SelfSigned self = SelfSigned.in(folder);
    HttpOptions options = HttpOptions.builder().tls(self.certificate(), self.key()).build();
    try (Served served = Served.at(folder.resolve("store"), options)) {
      for (String protocol : List.of("http/1.1", "")) {
        String put = FramingHttpTest.put("Content-Length: 3", "old");
        String smuggling = FramingHttpTest.put("Transfer-Encoding: gzip", FramingHttpTest.SMUGGLED);
        String answer = raw(self.trusting(), served, protocol, smuggling);
        FramingHttpTest.assertRefused(served, smuggling, answer);
        String answers = raw(self.trusting(), served, protocol, put + smuggling);
        assertTrue(answers.startsWith("HTTP/1.1 204 "), answers);
        FramingHttpTest.assertRefused(
            served, smuggling, answers.substring(answers.lastIndexOf("HTTP/1.1 ")));
        assertArrayEquals("old".getBytes(US_ASCII), served.store().get("k".getBytes(US_ASCII)));
      }
    }
  }

  /** Sends these bytes and reads until the server closes; without a protocol none is agreed on. */
  private static String raw(SSLContext context, Served served, String protocol, String request)
      throws IOException {
    try (SSLSocket socket =
        (SSLSocket)
            context
                .getSocketFactory()
                .createSocket(InetAddress.getLoopbackAddress(), served.port())) {
      socket.setSoTimeout(30_000);
      if (!protocol.isEmpty()) {
        SSLParameters parameters = socket.getSSLParameters();
        parameters.setApplicationProtocols(new String[] {protocol});
        socket.setSSLParameters(parameters);
      }
      socket.getOutputStream().write(request.getBytes(US_ASCII));
      return new String(socket.getInputStream().readAllBytes(), US_ASCII);
    }
  }

  @Test
  void filesThatAreNoKeyPairAreSaidSo() throws IOException {
    Path nothing = SelfSigned.pem(folder, "NOTHING", new byte[10]);
    HttpOptions options = HttpOptions.builder().tls(nothing, nothing).build();
    assertThrows(IllegalArgumentException.class, () -> Served.at(folder.resolve("store"), options));
  }
}
