package io.kvsep.server.redis;

import io.kvsep.KvStore;
import io.kvsep.error.ReadOnlyStoreException;
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
 * Serves a store to Redis clients. It neither owns the store nor the event loops; both have to stay
 * open until it is closed.
 *
 * <pre>{@code
 * try (RedisServer server = new RedisServer(store, options, loops)) {
 *   server.start();
 *   ...
 * }
 * }</pre>
 *
 * <p>Thread safe. Owns one thread for each event loop that has connections, up to two for commands
 * that take long, and at times one that counts keys.
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

  /** Read by event loops, which must not wait for whoever is closing. */
  private volatile boolean closed;

  public RedisServer(KvStore store, RedisOptions options, EventLoopGroup loops) {
    this.store = store;
    this.options = options;
    this.loops = loops;
    this.state = new ServerState(store, options);
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
   * @throws IOException when the address cannot be had
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

  /** Where it listens, with the port that was free where the options said 0. */
  public synchronized InetSocketAddress address() {
    if (listener == null) {
      throw new IllegalStateException("the server is not started");
    }
    return (InetSocketAddress) listener.localAddress();
  }

  /**
   * Publishes how many commands were answered and how long they took, as {@code
   * kvsep.redis.commands}.
   */
  public void bindTo(MeterRegistry registry) {
    state.meter().bindTo(registry);
  }

  /** The same by kind, with a histogram, as {@code /v1/stats} has it. */
  public JsonObject commands() {
    return state.meter().json();
  }

  /** Connections of clients at this moment. */
  public int clients() {
    return state.connections();
  }

  /** For tests to look at. */
  ServerState state() {
    return state;
  }

  /**
   * Accepts nothing more, carries out the commands that were read, sends their answers and closes
   * the connections; that takes ten seconds at most. Then syncs the store. Does nothing when it is
   * closed already.
   *
   * @throws io.kvsep.error.KvException when the store could not be synced; the server is closed all
   *     the same
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
    // A thread that is interrupted does not park.
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
    syncStore();
  }

  /** From then on no command begins that {@link ServerState#underWay} does not have. */
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

  private void syncStore() {
    try {
      store.sync();
    } catch (ReadOnlyStoreException e) {
      // There is nothing to sync.
      return;
    }
  }

  /**
   * Takes over a connection. One that was accepted before the listener was closed may come only
   * now. It is among the connections first, so that either it is seen here that the server is
   * closed, or the connection is seen there.
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

  /** What fits the loops that were given. */
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
