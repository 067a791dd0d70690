package io.kvsep.server.redis;

import io.kvsep.KvStore;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.server.cluster.ClusterNode;
import io.kvsep.server.json.JsonObject;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.IoEventLoopGroup;
import io.netty.channel.ServerChannel;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.epoll.EpollIoHandler;
import io.netty.channel.epoll.EpollServerSocketChannel;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.util.concurrent.EventExecutor;
import io.netty.util.concurrent.Future;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Serves a store to Redis clients. It owns neither the store nor the event loops; both must stay
 * open until it is closed.
 *
 * <pre>{@code
 * try (RedisServer server = new RedisServer(store, options, loops)) {
 *   server.start();
 *   ...
 * }
 * }</pre>
 *
 * <p>Thread safe. Owns one thread for each event loop that has connections, up to two for long
 * commands, and sometimes one that counts keys.
 */
public final class RedisServer implements AutoCloseable {
  private static final Duration CLOSING_MAX = Duration.ofSeconds(10);
  private static final int LONG_COMMANDS_AT_ONCE = 2;
  private static final int BACKLOG = 511;
  private static final WriteBufferWaterMark WATER_MARK =
      new WriteBufferWaterMark(64 << 10, 256 << 10);

  private final KvStore store;
  private final RedisOptions options;
  private final EventLoopGroup loops;
  private final ServerState state;
  private final Map<EventExecutor, CommandExecutor> lanes = new ConcurrentHashMap<>();
  private final AtomicInteger laneCount = new AtomicInteger();
  private final ThreadPoolExecutor longCommands;
  private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE);
  private @Nullable Channel listener;

  /** Volatile, because event loops read it and must not wait for the lock that close() holds. */
  private volatile boolean closed;

  public RedisServer(KvStore store, RedisOptions options, EventLoopGroup loops) {
    this(store, null, options, loops);
  }

  /** Serves a node of a cluster. */
  public RedisServer(ClusterNode node, RedisOptions options, EventLoopGroup loops) {
    this(node.store(), node, options, loops);
  }

  private RedisServer(
      KvStore store, @Nullable ClusterNode node, RedisOptions options, EventLoopGroup loops) {
    this.store = store;
    this.options = options;
    this.loops = loops;
    this.state = new ServerState(store, node, options);
    AtomicInteger number = new AtomicInteger();
    this.longCommands =
        new ThreadPoolExecutor(
            LONG_COMMANDS_AT_ONCE,
            LONG_COMMANDS_AT_ONCE,
            10,
            TimeUnit.SECONDS,
            new LinkedBlockingQueue<>(),
            work -> {
              Thread thread = new Thread(work, "kvsep-redis-long-" + number.incrementAndGet());
              thread.setDaemon(true);
              return thread;
            });
    longCommands.allowCoreThreadTimeOut(true);
  }

  /**
   * Begins to listen.
   *
   * @throws IOException if the address cannot be bound
   */
  public synchronized void start() throws IOException {
    if (closed || listener != null) {
      throw new IllegalStateException(closed ? "the server is closed" : "it is started already");
    }
    ServerBootstrap bootstrap =
        new ServerBootstrap()
            .group(loops)
            .channel(channelType())
            .option(ChannelOption.SO_BACKLOG, BACKLOG)
            .option(ChannelOption.SO_REUSEADDR, true)
            .childOption(ChannelOption.TCP_NODELAY, true)
            .childOption(ChannelOption.SO_KEEPALIVE, true)
            .childOption(ChannelOption.ALLOW_HALF_CLOSURE, true)
            .childOption(ChannelOption.WRITE_BUFFER_WATER_MARK, WATER_MARK)
            .childHandler(
                new ChannelInitializer<Channel>() {
                  @Override
                  protected void initChannel(Channel channel) {
                    open(channel);
                  }
                });
    var bound = bootstrap.bind(options.address()).awaitUninterruptibly();
    if (!bound.isSuccess()) {
      Throwable cause = bound.cause();
      throw new IOException(
          "cannot listen on " + text(options.address()) + ": " + cause.getMessage(), cause);
    }
    listener = bound.channel();
    state.listeningOn(address().getPort());
  }

  /** Address that the server listens on, with the actual port. */
  public synchronized InetSocketAddress address() {
    if (listener == null) {
      throw new IllegalStateException("the server is not started");
    }
    return (InetSocketAddress) listener.localAddress();
  }

  /** Publishes the number and duration of commands as {@code kvsep.redis.commands}. */
  public void bindTo(MeterRegistry registry) {
    state.meter().bindTo(registry);
  }

  /** Number and duration of commands by kind, with a histogram, as in {@code /v1/stats}. */
  public JsonObject commands() {
    return state.meter().json();
  }

  /** Number of client connections. */
  public int clients() {
    return state.connections();
  }

  /** For tests. */
  ServerState state() {
    return state;
  }

  /**
   * Stops accepting, executes the commands already read, sends their replies and closes the
   * connections; this takes at most ten seconds. Then syncs the store. Does nothing if already
   * closed.
   *
   * @throws io.kvsep.error.KvException if the sync failed; the server is closed nevertheless
   */
  @Override
  public void close() {
    close(CLOSING_MAX);
  }

  /**
   * @param most how long it may take
   */
  synchronized void close(Duration most) {
    if (closed) {
      return;
    }
    closed = true;
    long deadline = System.nanoTime() + most.toNanos();
    if (listener != null) {
      listener.close().awaitUninterruptibly(most.toMillis());
    }
    stopListening(deadline);
    // An interrupted thread would not park.
    boolean interrupted = false;
    while (state.underWay().get() > 0 && System.nanoTime() - deadline < 0) {
      LockSupport.parkNanos(1_000_000);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    connections.flush();
    for (Channel connection : connections) {
      connection.writeAndFlush(Unpooled.EMPTY_BUFFER).awaitUninterruptibly(millisUntil(deadline));
    }
    connections.close().awaitUninterruptibly(most.toMillis() / 10);
    lanes.values().forEach(CommandExecutor::stop);
    longCommands.shutdown();
    awaitThreads(deadline);
    state.shardWriters().shutdown();
    syncStore();
  }

  /** After this, no command begins that {@link ServerState#underWay} does not count. */
  private void stopListening(long deadline) {
    List<Future<?>> stops = new ArrayList<>();
    for (Channel connection : connections) {
      stops.add(
          connection
              .eventLoop()
              .submit(
                  () -> {
                    RedisHandler handler = connection.pipeline().get(RedisHandler.class);
                    if (handler != null) {
                      handler.stopListening();
                    }
                  }));
    }
    for (Future<?> stop : stops) {
      stop.awaitUninterruptibly(millisUntil(deadline));
    }
  }

  private void awaitThreads(long deadline) {
    boolean interrupted = false;
    for (CommandExecutor lane : lanes.values()) {
      try {
        lane.awaitStop(millisUntil(deadline));
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Not on a node of a cluster: the log has been synced. */
  private void syncStore() {
    if (state.node() != null) {
      return;
    }
    try {
      store.sync();
    } catch (ReadOnlyStoreException e) {
      // A read-only store has nothing to sync.
      return;
    }
  }

  /**
   * Sets up a connection, which may arrive after the listener was closed. It is added to the
   * connections first: then either this sees that the server is closed, or close() sees the
   * connection.
   */
  private void open(Channel channel) {
    connections.add(channel);
    if (closed) {
      ChannelFuture unusedClose = channel.close();
      return;
    }
    if (options.tls() != null) {
      channel.pipeline().addLast(options.tls().newHandler(channel.alloc()));
    }
    channel.pipeline().addLast(new RedisHandler(state, lane(channel.eventLoop(), channel.alloc())));
  }

  private CommandExecutor lane(EventExecutor loop, ByteBufAllocator allocator) {
    return lanes.computeIfAbsent(
        loop,
        key ->
            new CommandExecutor(
                state, key, longCommands, allocator, "kvsep-redis-" + laneCount.incrementAndGet()));
  }

  private Class<? extends ServerChannel> channelType() {
    boolean epoll = loops instanceof IoEventLoopGroup io && io.isIoType(EpollIoHandler.class);
    return epoll ? EpollServerSocketChannel.class : NioServerSocketChannel.class;
  }

  private static long millisUntil(long deadline) {
    return Math.max(1, TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime()));
  }

  private static String text(InetSocketAddress address) {
    return address.getHostString() + ":" + address.getPort();
  }
}
