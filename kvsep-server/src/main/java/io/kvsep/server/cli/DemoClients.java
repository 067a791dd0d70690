package io.kvsep.server.cli;

import java.io.IOException;
import java.net.http.HttpRequest.BodyPublishers;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Clients that write through all nodes of a cluster, each a key after the other. Repeat a write at
 * the next node until it is acknowledged: values depend on the key alone, so it does not matter how
 * often one is written.
 */
final class DemoClients implements AutoCloseable {
  private static final int VALUE_BYTES = 500;
  private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(60);
  private static final long PAUSE_MILLIS = 20;
  private static final Duration TIME = Duration.ofSeconds(20);

  private final List<ServerConnection> servers;
  private final List<Client> clients = new ArrayList<>();
  private final CountDownLatch end = new CountDownLatch(1);

  // Guarded by this.
  private long acknowledged;
  private long lastNanos = System.nanoTime();
  private long longestNanos;

  DemoClients(int count, List<ServerConnection> servers) {
    this.servers = new CopyOnWriteArrayList<>(servers);
    for (int i = 0; i < count; i++) {
      clients.add(new Client(i));
    }
  }

  /** Key of a client's write; they sort by client, then by number, from 1. */
  static String key(int client, int number) {
    return String.format(Locale.ROOT, "client%02d/%08d", client, number);
  }

  static byte[] value(String key) {
    byte[] value = new byte[VALUE_BYTES];
    new Random(key.hashCode()).nextBytes(value);
    return value;
  }

  void start() {
    clients.forEach(Thread::start);
  }

  /** Puts a server in the place of one that has ended. */
  void replace(ServerConnection gone, ServerConnection server) {
    servers.set(servers.indexOf(gone), server);
  }

  synchronized long acknowledged() {
    return acknowledged;
  }

  /** Waits until this many more writes are acknowledged. */
  synchronized void awaitMore(long count) throws InterruptedException {
    long target = acknowledged + count;
    long endNanos = System.nanoTime() + PATIENCE_NANOS;
    while (acknowledged < target) {
      requireNoFailure();
      long leftNanos = endNanos - System.nanoTime();
      if (leftNanos <= 0) {
        throw CommandFailure.failed("no writes were acknowledged for a minute");
      }
      TimeUnit.NANOSECONDS.timedWait(this, leftNanos);
    }
  }

  /** Forgets how long writes paused before. */
  synchronized void watch() {
    longestNanos = 0;
  }

  /** The longest time without an acknowledgement to any client since {@link #watch}. */
  synchronized long longestPauseNanos() {
    return longestNanos;
  }

  private synchronized void acknowledge() {
    long now = System.nanoTime();
    longestNanos = Math.max(longestNanos, now - lastNanos);
    lastNanos = now;
    acknowledged++;
    notifyAll();
  }

  private void requireNoFailure() {
    for (Client client : clients) {
      RuntimeException failure = client.failure;
      if (failure != null) {
        throw failure;
      }
    }
  }

  /** Ends the clients, each when its write is acknowledged; the number of writes of each. */
  List<Integer> stop() throws InterruptedException {
    end.countDown();
    List<Integer> counts = new ArrayList<>();
    for (Client client : clients) {
      client.join();
      counts.add(client.written);
    }
    requireNoFailure();
    return counts;
  }

  @Override
  public void close() {
    end.countDown();
    clients.forEach(Thread::interrupt);
  }

  private final class Client extends Thread {
    private final int number;
    private int node;
    private int written;
    private volatile @Nullable RuntimeException failure;

    Client(int number) {
      super("kvsep-demo-client-" + number);
      this.number = number;
      this.node = number;
      setDaemon(true);
    }

    @Override
    public void run() {
      try {
        while (end.getCount() > 0) {
          put(key(number, written + 1));
          written++;
          acknowledge();
        }
      } catch (InterruptedException e) {
        // The demo has failed elsewhere.
        return;
      } catch (RuntimeException e) {
        failure = e;
      }
    }

    private void put(String key) throws InterruptedException {
      byte[] value = value(key);
      long endNanos = System.nanoTime() + PATIENCE_NANOS;
      while (true) {
        ServerConnection server = servers.get(node % servers.size());
        try {
          server.send("PUT", "/v1/keys/" + key, BodyPublishers.ofByteArray(value), TIME);
          return;
        } catch (IOException | CommandFailure e) {
          if (System.nanoTime() - endNanos >= 0) {
            throw CommandFailure.failed("a write failed for a minute: " + Kvsep.reason(e), e);
          }
          node++;
          boolean unusedEnd = end.await(PAUSE_MILLIS, TimeUnit.MILLISECONDS);
        }
      }
    }
  }
}
