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
 * @param readToken what AUTH may give instead, for a connection that only reads; null when nothing
 * @param tls null for plain text
 * @param clock the one the store was opened with: times to live are reckoned by it
 */
public record RedisOptions(
    InetSocketAddress address,
    @Nullable String token,
    @Nullable String readToken,
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
    if (readToken != null && (readToken.isEmpty() || token == null || token.equals(readToken))) {
      throw new IllegalArgumentException(
          "a token that only reads needs another one beside it that may write");
    }
    if (token == null && !address.getAddress().isLoopbackAddress()) {
      throw new IllegalArgumentException(
          "listening on " + address.getHostString() + ", which is not loopback, needs a token");
    }
  }

  /** On an address, without TLS; null for no token. */
  public static RedisOptions on(InetSocketAddress address, @Nullable String token) {
    return new RedisOptions(address, token, null, null, Clock.systemUTC(), RedisLimits.defaults());
  }

  /** Needs a token, and differs from it; null for none. */
  public RedisOptions withReadToken(@Nullable String secret) {
    return new RedisOptions(address, token, secret, tls, clock, limits);
  }

  public RedisOptions withTls(@Nullable SslContext context) {
    return new RedisOptions(address, token, readToken, context, clock, limits);
  }

  public RedisOptions withClock(Clock other) {
    return new RedisOptions(address, token, readToken, tls, other, limits);
  }

  public RedisOptions withLimits(RedisLimits other) {
    return new RedisOptions(address, token, readToken, tls, clock, other);
  }

  /** Without the tokens. */
  @Override
  public String toString() {
    return "RedisOptions[" + address + (tls == null ? "" : ", TLS") + "]";
  }
}
