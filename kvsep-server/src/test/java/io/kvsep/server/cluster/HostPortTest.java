package io.kvsep.server.cluster;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class HostPortTest {
  @Test
  void namesAndAddressesHaveAPort() {
    assertEquals(new HostPort("10.0.0.4", 7101), HostPort.parse("10.0.0.4:7101"));
    assertEquals(new HostPort("shop_a.example", 1), HostPort.parse("shop_a.example:1"));
    assertEquals(new HostPort("::1", 65_535), HostPort.parse("[::1]:65535"));
    assertEquals(new HostPort("fe80::4%eth0", 7101), HostPort.parse("[fe80::4%eth0]:7101"));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "host",
        "host:",
        ":7101",
        "host:0",
        "host:65536",
        "host:99999999999",
        "host:-1",
        "host:71x",
        "host :7101",
        "host:7101 ",
        "::1:7101",
        "[::1]",
        "[]:7101",
        "[host]:7101",
        "http://host:7101",
        "user@host:7101"
      })
  void otherTextIsNone(String text) {
    IllegalArgumentException failure =
        assertThrows(IllegalArgumentException.class, () -> HostPort.parse(text));
    assertTrue(failure.toString().endsWith("[fe80::4]:7101: " + text), failure.toString());
  }
}
