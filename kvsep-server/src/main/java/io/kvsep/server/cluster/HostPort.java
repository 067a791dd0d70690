package io.kvsep.server.cluster;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Where a node is reached. Its text is {@code HOST:PORT}, with an IPv6 address in brackets.
 *
 * @param host a name or an address, without brackets
 * @param port from 1 to 65,535
 */
public record HostPort(String host, int port) {
  private static final Pattern FORM =
      Pattern.compile(
          "(?:\\[([^\\s\\[\\]/?#@]*:[^\\s\\[\\]/?#@]*)]|([^\\s\\[\\]/?#@:]+)):(\\d{1,5})");

  /** Parses the text. Throws {@link IllegalArgumentException} if it is none. */
  public static HostPort parse(String text) {
    Matcher parts = FORM.matcher(text);
    int port = parts.matches() ? Integer.parseInt(parts.group(3)) : 0;
    if (port < 1 || port > 65_535) {
      throw new IllegalArgumentException(
          "an address is HOST:PORT, such as 10.0.0.4:7101 or [fe80::4]:7101: " + text);
    }
    String bracketed = parts.group(1);
    return new HostPort(bracketed == null ? parts.group(2) : bracketed, port);
  }
}
