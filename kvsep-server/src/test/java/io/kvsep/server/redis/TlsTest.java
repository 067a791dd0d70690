package io.kvsep.server.redis;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.server.testing.SelfSigned;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.net.InetAddress;
import java.nio.file.Path;
import java.time.Clock;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TlsTest {
  @TempDir Path directory;

  @Test
  void speaksTlsAndNothingElse() throws Exception {
    SelfSigned self = SelfSigned.in(directory);
    SslContext tls =
        SslContextBuilder.forServer(self.certificate().toFile(), self.key().toFile()).build();

    try (RunningRedis redis =
            RunningRedis.in(
                directory.resolve("store"), Clock.systemUTC(), options -> options.withTls(tls));
        RawClient client =
            new RawClient(
                self.trusting()
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
}
