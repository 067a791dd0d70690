package io.kvsep.server;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.KvException;
import io.kvsep.server.http.HttpFront;
import io.kvsep.server.http.HttpOptions;
import io.kvsep.server.json.JsonObject;
import io.kvsep.server.redis.RedisOptions;
import io.kvsep.server.redis.RedisServer;
import io.netty.channel.EventLoopGroup;
import io.netty.handler.ssl.SslContext;
import io.netty.handler.ssl.SslContextBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * An open store and its listeners, from the start to the stop: event loops below, the store, then
 * the listeners, and the other way round at the end.
 */
final class Serving {
  private static final int STOP_SECONDS_MAX = 60;

  /** For event loops whose listeners are closed already. */
  private static final int LOOP_STOP_SECONDS_MAX = 5;

  private final Streams streams;
  private final StoreOptions store;
  private final KvOptions.Builder options;
  private final String durability;
  private final HttpOptions http;
  private final @Nullable RedisOptions redis;
  private final @Nullable Path certificate;
  private final @Nullable Path key;
  private final CountDownLatch isAskedToStop = new CountDownLatch(1);
  private final CountDownLatch hasStopped = new CountDownLatch(1);

  /**
   * @param durability of the options, for people
   * @param redis null when Redis clients are not to be served
   * @param certificate null for no encryption
   * @param key of the certificate
   */
  Serving(
      Streams streams,
      StoreOptions store,
      KvOptions.Builder options,
      String durability,
      HttpOptions http,
      @Nullable RedisOptions redis,
      @Nullable Path certificate,
      @Nullable Path key) {
    this.streams = streams;
    this.store = store;
    this.options = options;
    this.durability = durability;
    this.http = http;
    this.redis = redis;
    this.certificate = certificate;
    this.key = key;
  }

  /** Returns when the process is asked to stop and everything is closed. */
  void run() throws IOException, InterruptedException {
    int processors = Runtime.getRuntime().availableProcessors();
    EventLoopGroup loops = EventLoopGroups.newEventLoopGroup(processors, "kvsep-loop");
    // A Redis command costs so little that few loops carry more: what arrives together is committed
    // together, and a processor is left for the lanes, for compaction, and for clients nearby.
    EventLoopGroup redisLoops =
        EventLoopGroups.newEventLoopGroup(Math.max(1, processors / 2), "kvsep-redis");
    SslContext tls = tls();
    try (KvStore open = store.openOrCreate(options);
        HttpFront front = started(open, loops);
        RedisServer server =
            redis == null ? null : new RedisServer(open, redis.withTls(tls), redisLoops)) {
      front.include("about", () -> about(server));
      if (server != null) {
        server.bindTo(front.meters());
        front.include("commands", server::commands);
        server.start();
      }
      announce((http.isEncrypted() ? "https" : "http"), front.address());
      if (server != null) {
        announce(tls == null ? "redis" : "rediss", server.address());
      }
      streams.output().flush();
      Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "kvsep-stop"));
      StopSignals.handle(this::stopByItself);
      isAskedToStop.await();
      // Redis clients are closed first, which may take a while.
      front.refuseRequests();
    } finally {
      redisLoops
          .shutdownGracefully(0, LOOP_STOP_SECONDS_MAX, TimeUnit.SECONDS)
          .awaitUninterruptibly();
      loops.shutdownGracefully(0, LOOP_STOP_SECONDS_MAX, TimeUnit.SECONDS).awaitUninterruptibly();
      hasStopped.countDown();
    }
  }

  /** What is served, for the page. */
  private JsonObject about(@Nullable RedisServer server) {
    Path directory = store.directory().toAbsolutePath().normalize();
    JsonObject about =
        new JsonObject()
            .put("directory", directory.toString())
            .put("version", Kvsep.version())
            .put("durability", durability);
    if (server != null) {
      about.put("redisClients", server.clients());
    }
    try {
      return about.put("freeDiskBytes", Files.getFileStore(directory).getUsableSpace());
    } catch (IOException e) {
      // The system does not tell, or the directory is gone, which the store finds out.
      return about;
    }
  }

  /** What Redis clients are met with; null for no encryption. */
  private @Nullable SslContext tls() throws IOException {
    if (certificate == null || key == null) {
      return null;
    }
    try {
      return SslContextBuilder.forServer(certificate.toFile(), key.toFile()).build();
    } catch (IllegalArgumentException e) {
      throw unusable(e);
    }
  }

  private static CommandFailure unusable(IllegalArgumentException e) {
    return CommandFailure.failed("cannot use these files for TLS: " + e.getMessage(), e);
  }

  private HttpFront started(KvStore open, EventLoopGroup loops) {
    HttpFront front;
    try {
      front = new HttpFront(open, http, loops);
    } catch (IllegalArgumentException e) {
      throw unusable(e);
    }
    try {
      front.start();
      return front;
    } catch (IllegalStateException e) {
      front.close();
      throw CommandFailure.failed(String.valueOf(e.getMessage()), e);
    } catch (KvException e) {
      front.close();
      throw e;
    }
  }

  private void announce(String scheme, InetSocketAddress address) throws IOException {
    InetAddress host = Objects.requireNonNull(address.getAddress(), "resolved");
    String name = host.getHostAddress();
    String place = (name.contains(":") ? "[" + name + "]" : name) + ":" + address.getPort();
    streams.output().line("serving " + store.directory() + " at " + scheme + "://" + place);
  }

  /** The process ends with the code of the command, or soon with that of a failure. */
  private void stopByItself() {
    if (!stop()) {
      // So that the hook does not wait once more.
      hasStopped.countDown();
      System.exit(Kvsep.FAILED);
    }
  }

  /**
   * The process ends when its hooks do, so this one waits for the end.
   *
   * @return whether everything is closed, or the thread was asked not to wait for that
   */
  private boolean stop() {
    isAskedToStop.countDown();
    try {
      if (!hasStopped.await(STOP_SECONDS_MAX, TimeUnit.SECONDS)) {
        streams.errors().println(Kvsep.line("not stopped after " + STOP_SECONDS_MAX + " s"));
        return false;
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
    return true;
  }
}
