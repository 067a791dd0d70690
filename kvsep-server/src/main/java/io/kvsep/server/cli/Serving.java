package io.kvsep.server.cli;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.error.KvException;
import io.kvsep.server.cluster.ClusterNode;
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
 * Runs an open store and its listeners. Starts the event loops, the store, then the listeners;
 * closes them in reverse order.
 */
final class Serving {
  private static final int STOP_SECONDS_MAX = 60;

  /** Time for event loops to end after their listeners are closed. */
  private static final int LOOP_STOP_SECONDS_MAX = 5;

  private final Streams streams;
  private final Path directory;
  private final String durability;
  private final Opening opening;
  private final HttpOptions http;
  private final @Nullable RedisOptions redis;
  private final @Nullable Path certificate;
  private final @Nullable Path key;
  private final CountDownLatch isAskedToStop = new CountDownLatch(1);
  private final CountDownLatch hasStopped = new CountDownLatch(1);

  /** Opens what is served. */
  interface Opening {
    ServedStore open() throws IOException;
  }

  /**
   * @param directory of the store
   * @param durability description of its durability
   * @param redis null to serve no Redis clients
   * @param certificate null for no encryption
   * @param key private key of the certificate
   */
  Serving(
      Streams streams,
      Path directory,
      String durability,
      Opening opening,
      HttpOptions http,
      @Nullable RedisOptions redis,
      @Nullable Path certificate,
      @Nullable Path key) {
    this.streams = streams;
    this.directory = directory;
    this.durability = durability;
    this.opening = opening;
    this.http = http;
    this.redis = redis;
    this.certificate = certificate;
    this.key = key;
  }

  /** Returns when the process has been asked to stop and everything is closed. */
  void run() throws IOException, InterruptedException {
    int processors = Runtime.getRuntime().availableProcessors();
    EventLoopGroup loops = EventLoopGroups.newEventLoopGroup(processors, "kvsep-loop");
    // Few loops carry more Redis commands, which cost little: commands that arrive together are
    // committed together, and processors are left for the lanes, compaction and local clients.
    EventLoopGroup redisLoops =
        EventLoopGroups.newEventLoopGroup(Math.max(1, processors / 2), "kvsep-redis");
    SslContext tls = tls();
    try (ServedStore open = opening.open();
        HttpFront front = started(open, loops);
        RedisServer server = redis(open, tls, redisLoops)) {
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

  /** What is served, for the dashboard. */
  private JsonObject about(@Nullable RedisServer server) {
    Path absolute = directory.toAbsolutePath().normalize();
    JsonObject about =
        new JsonObject()
            .put("directory", absolute.toString())
            .put("version", Kvsep.version())
            .put("durability", durability);
    if (server != null) {
      about.put("redisClients", server.clients());
    }
    try {
      return about.put("freeDiskBytes", Files.getFileStore(absolute).getUsableSpace());
    } catch (IOException e) {
      // The file system does not report it, or the directory is gone, which the store will notice.
      return about;
    }
  }

  /** The TLS context for Redis clients; null for no encryption. */
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

  private @Nullable RedisServer redis(
      ServedStore open, @Nullable SslContext tls, EventLoopGroup loops) {
    if (redis == null) {
      return null;
    }
    ClusterNode node = open.node();
    RedisOptions options = redis.withTls(tls);
    return node == null
        ? new RedisServer(open.store(), options, loops)
        : new RedisServer(node, options, loops);
  }

  private HttpFront started(ServedStore open, EventLoopGroup loops) {
    ClusterNode node = open.node();
    HttpFront front;
    try {
      front =
          node == null
              ? new HttpFront(open.store(), http, loops)
              : new HttpFront(node, http, loops);
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
    streams.output().line("serving " + directory + " at " + scheme + "://" + place);
  }

  /**
   * Lets the process end with the command's exit code, or with that of a failure if the stop times
   * out.
   */
  private void stopByItself() {
    if (!stop()) {
      // Keeps the shutdown hook from waiting again.
      hasStopped.countDown();
      System.exit(Kvsep.FAILED);
    }
  }

  /**
   * Asks {@link #run} to stop and waits for it. As a shutdown hook it delays the end of the process
   * until then.
   *
   * @return whether everything is closed, or the thread was interrupted
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
