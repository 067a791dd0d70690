package io.kvsep.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.net.URI;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class ClusterOptionsTest {
  @Test
  void everyProblemIsNamed() {
    ClusterOptions.Builder builder =
        ClusterOptions.builder("a", Map.of("b", "nowhere"), Path.of("data"))
            .group("")
            .electionTimeout(Duration.ofMillis(1), Duration.ofMillis(1))
            .requestBytesMax(1);
    String message = assertThrows(IllegalArgumentException.class, builder::build).getMessage();
    assertEquals(
        "invalid options: peers must contain this node, a; the address of b must be host:port, is"
            + " nowhere; group must not be empty; electionTimeout must be at least 50 ms, and the"
            + " longest longer; requestBytesMax must be from 1048576 to 50331648, is 1",
        message);
  }

  @Test
  void otherHostsNeedTlsOrAnExplicitWord() {
    ClusterOptions.Builder open =
        ClusterOptions.builder("a", Map.of("a", "192.0.2.1:7101"), Path.of("data"));
    assertThrows(IllegalArgumentException.class, open::build);
    assertEquals("192.0.2.1", open.insecure(true).build().address().getHost());
    withAddress("127.0.0.1:7101").build();
  }

  @Test
  void anAddressIsAHostAndAPort() {
    URI six = withAddress("[::1]:65535").build().address();
    assertEquals("[::1]", six.getHost());
    assertEquals(65_535, six.getPort());
    withAddress("localhost:1").build();
    for (String address :
        List.of(
            "localhost",
            "localhost:",
            ":7101",
            "localhost:0",
            "localhost:65536",
            "localhost:99999999999",
            "localhost:-1",
            "localhost:7101 ",
            "::1:7101",
            "[::1]",
            "[]:7101",
            "dns:///localhost:7101",
            "localhost:7101/path",
            "user@localhost:7101")) {
      ClusterOptions.Builder builder = withAddress(address);
      assertThrows(IllegalArgumentException.class, builder::build, address);
    }
  }

  private static ClusterOptions.Builder withAddress(String address) {
    return ClusterOptions.builder("a", Map.of("a", address), Path.of("data"));
  }
}
