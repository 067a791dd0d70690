package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.netty.handler.ssl.SslContextBuilder;
import java.io.InputStream;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Clock;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TlsTest {
  private static final String PASSWORD = "changeit";

  @TempDir Path directory;

  @Test
  void speaksTlsAndNothingElse() throws Exception {
    KeyStore keys = keys();
    KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
    own.init(keys, PASSWORD.toCharArray());
    TrustManagerFactory trusted =
        TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
    trusted.init(keys);
    SSLContext context = SSLContext.getInstance("TLS");
    context.init(null, trusted.getTrustManagers(), null);

    try (RunningRedis redis =
            RunningRedis.in(
                directory.resolve("store"),
                Clock.systemUTC(),
                options -> options.withTls(tls(own)));
        RawClient client =
            new RawClient(
                context
                    .getSocketFactory()
                    .createSocket(InetAddress.getLoopbackAddress(), redis.port()));
        RawClient plain = redis.connect()) {
      String value = "v".repeat(300_000);
      assertEquals("+OK^", client.command("SET", "k", value));
      assertEquals("$300000^" + value + "^", client.command("GET", "k"));
      plain.send("PING^PING^PING^");
      assertTrue(plain.isEnded());
      client.expect("PING", "+PONG^");
    }
  }

  private static io.netty.handler.ssl.SslContext tls(KeyManagerFactory own) {
    try {
      return SslContextBuilder.forServer(own).build();
    } catch (javax.net.ssl.SSLException e) {
      throw new AssertionError(e);
    }
  }

  /** Made by the JDK's own tool. */
  private KeyStore keys() throws Exception {
    Path file = directory.resolve("keys.p12");
    Process tool =
        new ProcessBuilder(
                List.of(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
                    "-genkeypair",
                    "-keyalg",
                    "EC",
                    "-alias",
                    "test",
                    "-dname",
                    "CN=localhost",
                    "-storetype",
                    "PKCS12",
                    "-storepass",
                    PASSWORD,
                    "-keystore",
                    file.toString()))
            .redirectErrorStream(true)
            .redirectOutput(ProcessBuilder.Redirect.DISCARD)
            .start();
    assertTrue(tool.waitFor(60, TimeUnit.SECONDS));
    assertEquals(0, tool.exitValue());
    KeyStore keys = KeyStore.getInstance("PKCS12");
    try (InputStream input = Files.newInputStream(file)) {
      keys.load(input, PASSWORD.toCharArray());
    }
    return keys;
  }
}
