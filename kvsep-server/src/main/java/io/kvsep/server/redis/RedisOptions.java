package io.kvsep.server.redis;

import io.kvsep.server.cluster.HostPort;
import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.util.Map;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * Options of a {@link RedisServer}. Immutable; the {@code with} methods return a new object.
 *
 * @param address to listen on; port 0 selects a free one
 * @param token that AUTH must give, null for none; required unless the address is loopback
 * @param readToken that AUTH may give instead, for a read-only connection; null for none
 * @param tls null for plain text
 * @param clock that the store was opened with; times to live are computed with it
 * @param peers addresses of all nodes of a cluster for Redis clients, as {@code HOST:PORT}, by
 *     their names; empty to tell clients of none
 */
public record RedisOptions(
    InetSocketAddress address,
    @Nullable String token,
    @Nullable String readToken,
    @Nullable SslContext tls,
    Clock clock,
    RedisLimits limits,
    Map<String, String> peers) {
  public RedisOptions {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(clock, "clock");
    Objects.requireNonNull(limits, "limits");
    peers = Map.copyOf(peers);
    peers.values().forEach(HostPort::parse);
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("unknown host: " + address.getHostString());
    }
    if (token != null && token.isEmpty()) {
      throw new IllegalArgumentException("the token is empty");
    }
    if (readToken != null && (readToken.isEmpty() || token == null || token.equals(readToken))) {
      throw new IllegalArgumentException(
          "a token that only reads needs another one beside it that may write");
    }
    if (token == null && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "listening on " + address.getHostString() + ", which is not loopback, needs a token");
    }
  }

  /** Options for an address, without TLS; the token may be null for none. */
  public static RedisOptions on(InetSocketAddress address, @Nullable String token) {
    return new RedisOptions(
        address, token, null, null, Clock.systemUTC(), RedisLimits.defaults(), Map.of());
  }

  /** Requires a token that differs from it; null for none. */
  public RedisOptions withReadToken(@Nullable String secret) {
    return new RedisOptions(address, token, secret, tls, clock, limits, peers);
  }

  public RedisOptions withTls(@Nullable SslContext context) {
    return new RedisOptions(address, token, readToken, context, clock, limits, peers);
  }

  public RedisOptions withClock(Clock other) {
    return new RedisOptions(address, token, readToken, tls, other, limits, peers);
  }

  public RedisOptions withLimits(RedisLimits other) {
    return new RedisOptions(address, token, readToken, tls, clock, other, peers);
  }

  public RedisOptions withPeers(Map<String, String> addresses) {
    return new RedisOptions(address, token, readToken, tls, clock, limits, addresses);
  }

  /** Omits the tokens. */
  @Override
  public String toString() {
    return "RedisOptions[" + address + (tls == null ? "" : ", TLS") + "]";
  }
}
