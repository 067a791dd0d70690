package io.kvsep.server.http;

import com.linecorp.armeria.common.Flags;
import com.linecorp.armeria.common.TlsKeyPair;
import com.linecorp.armeria.common.util.BlockingTaskExecutor;
import com.linecorp.armeria.common.util.ThreadFactories;
import com.linecorp.armeria.common.util.TransportType;
import com.linecorp.armeria.server.Server;
import com.linecorp.armeria.server.ServerBuilder;
import com.linecorp.armeria.server.ServerPort;
import io.kvsep.KvStore;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.json.JsonObject;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoHandlerFactory;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.nio.NioIoHandler;
import io.netty.util.concurrent.Future;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Serves a store over HTTP. The store and the event loops belong to the caller, who closes them
 * after this and may use them for other listeners.
 *
 * <p>Thread safe. {@link #close} refuses new requests, ends change feeds, waits up to {@value
 * #STOP_SECONDS} seconds for running requests, cuts the remaining connections, and syncs the store.
 */
public final class HttpFront implements AutoCloseable {
  private static final int STOP_SECONDS = 15;

  /** Connections still open after this time are cut. */
  private static final int CUT_SECONDS = STOP_SECONDS + 1;

  /** With zero, Armeria would not wait for running requests. */
  private static final Duration STOP_QUIET = Duration.ofMillis(20);

  /** Enough for many writers to share one sync; queued requests are bounded by the gate. */
  private static final int WORKERS = 64;

  /**
   * Threads for long values, which are read as a whole for their checksum before anything is sent.
   * About half as many as processors, so short requests are not delayed.
   */
  private static final int LONG_WORKERS =
      Math.max(2, Runtime.getRuntime().availableProcessors() / 2);

  /** A key of full length with each byte percent-encoded, and the rest of a target. */
  private static final int TARGET_BYTES_MAX = 3 * 65_535 + 4096;

  private static final int HEADER_BYTES_MAX = 16 << 10;
  private static final int STREAMS_MAX = 256;

  private final KvStore store;
  private final boolean isNode;
  private final MonitoringApi insight;
  private final AdmissionControl gate;
  private final ChangeFeedApi feeds;
  private final Routes routes;
  private final BlockingTaskExecutor workers;
  private final BlockingTaskExecutor longWorkers;
  private final Connections connections = new Connections();
  private final Server server;
  private final AtomicBoolean isClosed = new AtomicBoolean();

  /** Does not listen before {@link #start}. */
  public HttpFront(KvStore store, HttpOptions options, EventLoopGroup loops) {
    this(store, null, options, loops);
  }

  /** Serves a node of a cluster. Does not listen before {@link #start}. */
  public HttpFront(ClusterNode node, HttpOptions options, EventLoopGroup loops) {
    this(node.store(), node, options, loops);
  }

  private HttpFront(
      KvStore store, @Nullable ClusterNode node, HttpOptions options, EventLoopGroup loops) {
    this.store = Objects.requireNonNull(store, "store");
    isNode = node != null;
    gate = new AdmissionControl(options.limits());
    Problems problems = new Problems(node);
    RequestMeter meter = new RequestMeter();
    insight = new MonitoringApi(store, meter, gate, connections::count, problems);
    KeyspaceCache keyspaces = new KeyspaceCache(store);
    feeds =
        new ChangeFeedApi(
            store, keyspaces, gate, new FeedEvents.Surroundings(options.limits(), problems));
    longWorkers = workers("kvsep-http-long", LONG_WORKERS);
    EntityTags tags = node == null ? EntityTags.drawn() : EntityTags.of(node.cluster());
    routes = new Routes(store, keyspaces, options, gate, tags, insight, feeds, longWorkers);
    routes.addBackup(new BackupApi(store, node, options.limits(), longWorkers));
    routes.addCluster(new ClusterApi(node));
    insight.bind(node);
    workers = workers("kvsep-http", WORKERS);
    Dispatcher dispatcher =
        new Dispatcher(
            routes,
            new Authenticator(options.token(), options.readToken()),
            gate,
            problems,
            options.limits(),
            longWorkers,
            node == null ? null : new ClusterRequests(node, options.redirects()));
    server = server(options, loops, dispatcher, problems);
  }

  private static BlockingTaskExecutor workers(String name, int count) {
    return BlockingTaskExecutor.builder()
        .threadNamePrefix(name)
        .numThreads(count)
        .keepAliveTime(Duration.ofSeconds(30))
        .build();
  }

  private Server server(
      HttpOptions options, EventLoopGroup loops, Dispatcher dispatcher, Problems problems) {
    HttpLimits limits = options.limits();
    ServerBuilder builder = Server.builder();
    Path certificate = options.certificate();
    Path key = options.key();
    boolean isEncrypted = certificate != null && key != null;
    if (certificate != null && key != null) {
      builder.https(options.address()).tls(TlsKeyPair.of(key.toFile(), certificate.toFile()));
    } else {
      builder.http(options.address());
    }
    return builder
        .workerGroup(loops, false)
        .bossGroupFactory(this::acceptor)
        .meterRegistry(insight.registry())
        .blockingTaskExecutor(workers, true)
        .childChannelPipelineCustomizer(
            pipeline -> {
              connections.add(pipeline.channel());
              Http1Check.addTo(pipeline, isEncrypted, routes);
            })
        .serviceUnder("/", dispatcher)
        .errorHandler(problems)
        .maxNumConnections(limits.connectionsMax())
        .idleTimeout(limits.idleTime())
        .requestTimeout(limits.requestTime())
        .maxRequestLength(Math.max(limits.valueBytesMax(), limits.documentBytesMax()))
        .http1MaxInitialLineLength(TARGET_BYTES_MAX)
        .http1MaxHeaderSize(HEADER_BYTES_MAX)
        .http2MaxHeaderListSize(TARGET_BYTES_MAX + HEADER_BYTES_MAX)
        .http2MaxStreamsPerConnection(STREAMS_MAX)
        .gracefulShutdownTimeout(STOP_QUIET, Duration.ofSeconds(STOP_SECONDS))
        .connectionDrainDuration(STOP_QUIET)
        .setHeader(Problem.SNIFFING, Problem.NO_SNIFFING)
        .verboseResponses(false)
        .disableServerHeader()
        .build();
  }

  /** An own acceptor group: shutting down the default one takes two seconds for nothing. */
  private EventLoopGroup acceptor(String name) {
    IoHandlerFactory io =
        Flags.transportType() == TransportType.EPOLL
            ? EpollIoHandler.newFactory()
            : NioIoHandler.newFactory();
    return new MultiThreadIoEventLoopGroup(1, ThreadFactories.newThreadFactory(name, true), io) {
      @Override
      public ChannelFuture register(Channel listener) {
        connections.closeBefore(listener);
        return super.register(listener);
      }

      @Override
      public Future<?> shutdownGracefully() {
        return shutdownGracefully(0, 5, TimeUnit.SECONDS);
      }
    };
  }

  /** Begins to listen. Throws if the address cannot be bound or the key pair is invalid. */
  public void start() {
    try {
      server.start().join();
    } catch (CompletionException e) {
      throw new IllegalStateException(
          "cannot listen: " + Objects.requireNonNullElse(e.getCause(), e).getMessage(), e);
    }
  }

  int openConnections() {
    return connections.count();
  }

  /** The address it listens on, with the actual port. */
  public InetSocketAddress address() {
    ServerPort port = server.activePort();
    if (port == null) {
      throw new IllegalStateException("not listening");
    }
    return port.localAddress();
  }

  /** The meters of {@code /metrics}; other listeners of the same store may add theirs. */
  public MeterRegistry meters() {
    return insight.registry();
  }

  /**
   * Adds figures to {@code /v1/stats} under a name, for example of another listener of the store.
   */
  public void include(String name, Supplier<JsonObject> figures) {
    insight.include(name, figures);
  }

  Routes routes() {
    return routes;
  }

  /**
   * Refuses new requests from now on and ends change feeds. This is the first step of {@link
   * #close}; call it separately to close other listeners in between.
   */
  public void refuseRequests() {
    gate.stop();
    feeds.stop();
  }

  @Override
  public void close() {
    if (!isClosed.compareAndSet(false, true)) {
      return;
    }
    refuseRequests();
    try {
      CompletableFuture<Void> stop = server.stop();
      CompletableFuture<?> unusedCut =
          stop.copy()
              .completeOnTimeout(null, CUT_SECONDS, TimeUnit.SECONDS)
              .thenRun(connections::cutAll);
      stop.orTimeout(2 * STOP_SECONDS, TimeUnit.SECONDS).join();
    } finally {
      awaitLongWorkers();
      insight.close();
      syncStore();
    }
  }

  /** Their work must end before the store may be closed. */
  private void awaitLongWorkers() {
    longWorkers.shutdown();
    try {
      boolean unusedEnd = longWorkers.awaitTermination(STOP_SECONDS, TimeUnit.SECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Not on a node of a cluster: the log has been synced. */
  private void syncStore() {
    if (isNode) {
      return;
    }
    try {
      store.sync();
    } catch (ReadOnlyStoreException e) {
      // There is nothing to sync.
      return;
    }
  }
}
