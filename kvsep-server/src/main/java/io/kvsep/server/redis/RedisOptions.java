package io.kvsep.server.redis;

import io.netty.handler.ssl.SslContext;
import java.net.InetSocketAddress;
import java.time.Clock;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link RedisServer} listens. Immutable; the refinements return a new object.
 *
 * @param address where to listen; port 0 takes a free one
 * @param token what AUTH has to give, null when nothing; needed unless the address is loopback
 * @param tls null for plain text
 * @param clock the one the store was opened with: times to live are reckoned by it
 */
public record RedisOptions(
    InetSocketAddress address,
    @Nullable String token,
    @Nullable SslContext tls,
    Clock clock,
    RedisLimits limits) {
  public RedisOptions {
    Objects.requireNonNull(address, "address");
    Objects.requireNonNull(clock, "clock");
    Objects.requireNonNull(limits, "limits");
    if (address.isUnresolved()) {
      throw new IllegalArgumentException("unknown host: " + address.getHostString());
    }
    if (token != null && token.isEmpty()) {
      throw new IllegalArgumentException("the token is empty");
    }
    if (token == null && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "listening on " + address.getHostString() + ", which is not loopback, needs a token");
    }
  }

  /** On an address, without TLS; null for no token. */
  public static RedisOptions on(InetSocketAddress address, @Nullable String token) {
    return new RedisOptions(address, token, null, Clock.systemUTC(), RedisLimits.defaults());
  }

  public RedisOptions withTls(@Nullable SslContext context) {
    return new RedisOptions(address, token, context, clock, limits);
  }

  public RedisOptions withClock(Clock other) {
    return new RedisOptions(address, token, tls, other, limits);
  }

  public RedisOptions withLimits(RedisLimits other) {
    return new RedisOptions(address, token, tls, clock, other);
  }

  /** Without the token. */
  @Override
  public String toString() {
    return "RedisOptions[" + address + (tls == null ? "" : ", TLS") + "]";
  }
}
