package io.kvsep.server.redis;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.Future;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Clock;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;

/** A store with a server in front of it, on a free port of loopback. */
final class RunningRedis implements AutoCloseable {
  private static final int LOOPS = 2;

  final KvStore store;
  final RedisServer server;
  private final EventLoopGroup loops;

  private RunningRedis(
      Path directory, KvOptions options, RedisOptions redis, IoHandlerFactory sockets)
      throws IOException {
    store = KvStore.open(directory, options);
    loops = new MultiThreadIoEventLoopGroup(LOOPS, sockets);
    server = new RedisServer(store, redis, loops);
    server.start();
  }

  static RunningRedis in(Path directory) throws IOException {
    return in(directory, Clock.systemUTC(), redis -> redis);
  }

  /** On the sockets of the JDK, which serve where epoll is not to be had. */
  static RunningRedis onPlainSockets(Path directory) throws IOException {
    KvOptions options = KvOptions.defaults();
    return new RunningRedis(directory, options, loopback(), NioIoHandler.newFactory());
  }

  static RunningRedis in(Path directory, Clock clock, UnaryOperator<RedisOptions> change)
      throws IOException {
    return in(directory, KvOptions.builder().clock(clock).build(), change);
  }

  static RunningRedis in(Path directory, KvOptions options, UnaryOperator<RedisOptions> change)
      throws IOException {
    RedisOptions redis = loopback().withClock(options.clock());
    IoHandlerFactory sockets =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    return new RunningRedis(directory, options, change.apply(redis), sockets);
  }

  static RedisOptions loopback() {
    return RedisOptions.on(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
  }

  static RedisOptions withToken(RedisOptions options, String token) {
    return RedisOptions.on(options.address(), token)
        .withClock(options.clock())
        .withLimits(options.limits());
  }

  /** Limits that a test can reach. */
  static RedisLimits small() {
    return small(Duration.ofMillis(200));
  }

  static RedisLimits small(Duration authentication) {
    return small(Duration.ofMillis(200), authentication);
  }

  static RedisLimits small(Duration slowReader, Duration authentication) {
    return new RedisLimits(5, 20, 1 << 20, 2 << 20, 1 << 20, 8, slowReader, authentication);
  }

  int port() {
    return server.address().getPort();
  }

  RawClient connect() throws IOException {
    return new RawClient(port());
  }

  @Override
  public void close() {
    server.close();
    store.close();
    Future<?> ended = loops.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    ended.awaitUninterruptibly();
  }
}
