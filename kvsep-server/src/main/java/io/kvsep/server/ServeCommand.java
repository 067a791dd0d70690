package io.kvsep.server;

import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.server.redis.RedisOptions;
import io.kvsep.server.redis.RedisServer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.Epoll;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** Puts the store behind a socket until the process is told to end. */
@Command(
    name = "serve",
    description = "Serve the store to Redis clients. Creates the store when there is none.")
final class ServeCommand implements Callable<Integer> {
  private final Streams streams;

  @Mixin private final StoreOptions store = new StoreOptions();

  @Option(
      names = "--redis-port",
      paramLabel = "PORT",
      defaultValue = "6379",
      description = "Port for Redis clients (default: 6379); 0 takes a free one.")
  private int redisPort = 6379;

  @Option(
      names = "--bind",
      paramLabel = "HOST",
      defaultValue = "127.0.0.1",
      description = "Address to listen on (default: 127.0.0.1). Any but loopback needs a token.")
  private String bind = "127.0.0.1";

  @Option(
      names = "--token-file",
      paramLabel = "FILE",
      description = "Clients have to give the first line of FILE.")
  private @Nullable Path tokenFile;

  @Option(
      names = "--tls-cert",
      paramLabel = "FILE",
      description = "Speak TLS with this certificate chain (PEM).")
  private @Nullable File certificate;

  @Option(names = "--tls-key", paramLabel = "FILE", description = "The key of --tls-cert (PEM).")
  private @Nullable File key;

  ServeCommand(Streams streams) {
    this.streams = streams;
  }

  @Override
  public Integer call() throws IOException, InterruptedException {
    RedisOptions redis = redisOptions();
    IoHandlerFactory io =
        Epoll.isAvailable() ? EpollIoHandler.newFactory() : NioIoHandler.newFactory();
    int threads = Math.max(1, Runtime.getRuntime().availableProcessors() / 2);
    EventLoopGroup loops = new MultiThreadIoEventLoopGroup(threads, io);
    CountDownLatch ended = new CountDownLatch(1);
    CountDownLatch closed = new CountDownLatch(1);
    Thread hook = new Thread(() -> end(ended, closed), "kvsep-serve-end");
    Runtime.getRuntime().addShutdownHook(hook);
    try (KvStore open = store.openOrCreate(KvOptions.builder());
        RedisServer server = new RedisServer(open, redis, loops)) {
      server.start();
      InetSocketAddress at = server.address();
      streams.output().line("redis on " + at.getHostString() + ":" + at.getPort());
      streams.output().flush();
      ended.await();
    } finally {
      loops.shutdownGracefully(0, 2, TimeUnit.SECONDS).addListener(done -> closed.countDown());
    }
    return Kvsep.DONE;
  }

  /** Keeps the process alive until everything is closed. */
  private static void end(CountDownLatch ended, CountDownLatch closed) {
    ended.countDown();
    try {
      closed.await();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private RedisOptions redisOptions() throws IOException {
    if ((certificate == null) != (key == null)) {
      throw CommandFailure.misused("--tls-cert and --tls-key need each other");
    }
    String token =
        tokenFile == null ? null : Files.readString(tokenFile).lines().findFirst().orElse("");
    SslContext tls =
        certificate == null || key == null
            ? null
            : SslContextBuilder.forServer(certificate, key).build();
    try {
      return RedisOptions.on(new InetSocketAddress(bind, redisPort), token).withTls(tls);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.misused("--bind, --redis-port, --token-file: " + e.getMessage());
    }
  }
}
