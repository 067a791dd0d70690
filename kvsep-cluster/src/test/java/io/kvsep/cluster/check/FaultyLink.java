package io.kvsep.cluster.check;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The way from one node to another: what connects to {@link #port} is connected to the target. It
 * passes bytes on, in both directions of a connection, until a fault is set. A fault is in force
 * when the method that sets it returns.
 *
 * <p>One thread serves all connections. Thread safe.
 */
final class FaultyLink implements AutoCloseable {
  /** What one direction of a connection may hold; a sender that is faster has to wait. */
  private static final int HELD_BYTES_MAX = 1 << 20;

  private static final int CHUNK_BYTES = 16 << 10;

  private static final Fault NONE = new Fault(Mode.PASS, 0);

  private enum Mode {
    PASS,
    DROP,
    HANG
  }

  private record Fault(Mode mode, long delayNanos) {}

  private final InetSocketAddress target;
  private final LongSupplier nanoTime;
  private final Selector selector;
  private final ServerSocketChannel server;
  private final Thread thread;

  /** Used by the link's thread alone. */
  private final List<Connection> connections = new ArrayList<>();

  private volatile Fault fault = NONE;
  private volatile boolean closed;

  /** Number of rounds that the thread has begun; guarded by this link's monitor. */
  private long rounds;

  FaultyLink(InetSocketAddress target) {
    this(target, System::nanoTime);
  }

  /**
   * @param nanoTime for delays; a test that moves it calls {@link #awaitRounds}
   */
  FaultyLink(InetSocketAddress target, LongSupplier nanoTime) {
    this.target = target;
    this.nanoTime = nanoTime;
    try {
      this.selector = Selector.open();
      this.server = ServerSocketChannel.open();
      server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
      server.configureBlocking(false);
      server.register(selector, SelectionKey.OP_ACCEPT);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    this.thread = new Thread(this::run, "link-to-" + target.getPort());
    thread.setDaemon(true);
    thread.start();
  }

  int port() {
    return server.socket().getLocalPort();
  }

  /** Heals the link: what a hanging connection holds goes on. */
  void pass() {
    set(NONE);
  }

  /** Resets all connections, and each new one. */
  void drop() {
    set(new Fault(Mode.DROP, 0));
  }

  /** Connections stay open, new ones too, and no byte moves. */
  void hang() {
    set(new Fault(Mode.HANG, 0));
  }

  /** Each byte that comes from now on arrives so much later. */
  void delay(Duration delay) {
    set(new Fault(Mode.PASS, delay.toNanos()));
  }

  private void set(Fault next) {
    fault = next;
    awaitRounds();
  }

  /** Returns when the thread has looked twice at all that was there when this was called. */
  void awaitRounds() {
    synchronized (this) {
      // The round under way may have read the fault and the time before.
      long awaited = rounds + 2;
      while (rounds < awaited && thread.isAlive()) {
        selector.wakeup();
        try {
          wait(10);
        } catch (InterruptedException e) {
          Thread.currentThread().interrupt();
          throw new IllegalStateException("interrupted", e);
        }
      }
    }
  }

  @Override
  public void close() {
    closed = true;
    selector.wakeup();
    boolean interrupted = false;
    while (thread.isAlive()) {
      try {
        thread.join();
      } catch (InterruptedException e) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private void run() {
    try (selector;
        server) {
      while (!closed) {
        Fault now = fault;
        accept(now.mode());
        for (Connection connection : List.copyOf(connections)) {
          if (now.mode() == Mode.DROP || connection.move(now)) {
            connections.remove(connection);
            connection.reset();
          }
        }
        synchronized (this) {
          rounds++;
          notifyAll();
        }
        if (!closed && fault.equals(now)) {
          selector.select(millisToWait(now));
          selector.selectedKeys().clear();
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      connections.forEach(Connection::reset);
    }
  }

  private void accept(Mode mode) throws IOException {
    for (SocketChannel client = server.accept(); client != null; client = server.accept()) {
      if (mode == Mode.DROP) {
        reset(client);
      } else {
        connections.add(new Connection(client));
      }
    }
  }

  /** Until the next held chunk is due; 0 where there is none. */
  private long millisToWait(Fault now) {
    if (now.mode() == Mode.HANG) {
      return 0;
    }
    long millis = Long.MAX_VALUE;
    for (Connection connection : connections) {
      for (Direction direction : connection.directions()) {
        Chunk first = direction.held.peek();
        long wait = first == null ? 0 : first.due - nanoTime.getAsLong();
        if (wait > 0) {
          millis = Math.min(millis, wait / 1_000_000 + 1);
        }
      }
    }
    return millis == Long.MAX_VALUE ? 0 : millis;
  }

  private static void reset(SocketChannel channel) {
    try (channel) {
      if (!channel.isOpen()) {
        return;
      }
      // Closing then sends a reset, as the end of a process does, and not the end of the stream.
      channel.setOption(StandardSocketOptions.SO_LINGER, 0);
    } catch (IOException e) {
      // It was connecting, or the other side was faster.
    }
  }

  private static final class Chunk {
    final ByteBuffer bytes;
    final long due;

    Chunk(ByteBuffer bytes, long due) {
      this.bytes = bytes;
      this.due = due;
    }
  }

  /** What comes from one side and goes to the other. */
  private final class Direction {
    final SocketChannel from;
    final SocketChannel to;
    final Deque<Chunk> held = new ArrayDeque<>();
    private int heldBytes;
    private boolean inputEnded;
    private boolean outputEnded;

    Direction(SocketChannel from, SocketChannel to) {
      this.from = from;
      this.to = to;
    }

    void move(long delayNanos) throws IOException {
      long now = nanoTime.getAsLong();
      while (!inputEnded && heldBytes < HELD_BYTES_MAX) {
        ByteBuffer bytes = ByteBuffer.allocate(CHUNK_BYTES);
        int count = from.read(bytes);
        if (count <= 0) {
          inputEnded = count < 0;
          break;
        }
        held.add(new Chunk(bytes.flip(), now + delayNanos));
        heldBytes += count;
      }
      for (Chunk first = held.peek(); isDue(first, now); first = held.peek()) {
        heldBytes -= to.write(first.bytes);
        if (first.bytes.hasRemaining()) {
          break;
        }
        held.remove();
      }
      if (inputEnded && held.isEmpty() && !outputEnded) {
        to.shutdownOutput();
        outputEnded = true;
      }
    }

    boolean mayRead() {
      return !inputEnded && heldBytes < HELD_BYTES_MAX;
    }

    /** Of a chunk that waits for the receiver, not for its time. */
    boolean mayWrite() {
      return isDue(held.peek(), nanoTime.getAsLong());
    }
  }

  private static boolean isDue(@Nullable Chunk chunk, long now) {
    return chunk != null && chunk.due - now <= 0;
  }

  private final class Connection {
    private final SocketChannel client;
    private final SocketChannel destination;
    private final Direction forth;
    private final Direction back;
    private boolean begun;

    Connection(SocketChannel client) throws IOException {
      this.client = client;
      this.destination = SocketChannel.open();
      this.forth = new Direction(client, destination);
      this.back = new Direction(destination, client);
      for (SocketChannel channel : List.of(client, destination)) {
        channel.configureBlocking(false);
        channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
      }
    }

    List<Direction> directions() {
      return List.of(forth, back);
    }

    /** Returns whether the connection has ended. */
    boolean move(Fault now) {
      try {
        if (now.mode() == Mode.HANG) {
          want(client, 0);
          want(destination, 0);
          return false;
        }
        if (!begun) {
          begun = true;
          destination.connect(target);
        }
        if (!destination.isConnected() && !destination.finishConnect()) {
          want(client, 0);
          want(destination, SelectionKey.OP_CONNECT);
          return false;
        }
        forth.move(now.delayNanos());
        back.move(now.delayNanos());
        want(client, operations(forth, back));
        want(destination, operations(back, forth));
        if (forth.outputEnded && back.outputEnded) {
          client.close();
          destination.close();
        }
        return !client.isOpen();
      } catch (IOException e) {
        return true;
      }
    }

    private int operations(Direction from, Direction to) {
      return (from.mayRead() ? SelectionKey.OP_READ : 0)
          | (to.mayWrite() ? SelectionKey.OP_WRITE : 0);
    }

    private void want(SocketChannel channel, int operations) throws IOException {
      SelectionKey key = channel.keyFor(selector);
      if (key == null) {
        channel.register(selector, operations);
      } else {
        key.interestOps(operations);
      }
    }

    void reset() {
      FaultyLink.reset(client);
      FaultyLink.reset(destination);
    }
  }
}
