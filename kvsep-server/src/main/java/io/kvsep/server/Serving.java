package io.kvsep.server;

import com.linecorp.armeria.common.util.EventLoopGroups;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.KvException;
import io.kvsep.server.http.HttpFront;
import io.kvsep.server.http.HttpOptions;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.util.Objects;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * An open store and its listeners, from the start to the stop: event loops below, the store, then
 * the listeners, and the other way round at the end.
 */
final class Serving {
  private static final int STOP_SECONDS_MAX = 60;

  private final Streams streams;
  private final Path directory;
  private final KvOptions options;
  private final HttpOptions http;
  private final CountDownLatch isAskedToStop = new CountDownLatch(1);
  private final CountDownLatch hasStopped = new CountDownLatch(1);

  Serving(Streams streams, Path directory, KvOptions options, HttpOptions http) {
    this.streams = streams;
    this.directory = directory;
    this.options = options;
    this.http = http;
  }

  /** Returns when the process is asked to stop and everything is closed. */
  void run() throws IOException, InterruptedException {
    int loopCount = Runtime.getRuntime().availableProcessors();
    EventLoopGroup loops = EventLoopGroups.newEventLoopGroup(loopCount, "kvsep-loop");
    try (KvStore store = KvStore.open(directory, options);
        HttpFront front = started(store, loops)) {
      // Further listeners are started here, each on the same store, loops and front.meters().
      announce(front.address());
      Runtime.getRuntime().addShutdownHook(new Thread(this::stop, "kvsep-stop"));
      isAskedToStop.await();
    } finally {
      loops.shutdownGracefully(0, 5, TimeUnit.SECONDS).awaitUninterruptibly();
      hasStopped.countDown();
    }
  }

  private HttpFront started(KvStore store, EventLoopGroup loops) {
    HttpFront front;
    try {
      front = new HttpFront(store, http, loops);
    } catch (IllegalArgumentException e) {
      throw CommandFailure.failed("cannot use these files for TLS: " + e.getMessage(), e);
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

  private void announce(InetSocketAddress address) throws IOException {
    InetAddress host = Objects.requireNonNull(address.getAddress(), "resolved");
    String name = host.getHostAddress();
    String url = (name.contains(":") ? "[" + name + "]" : name) + ":" + address.getPort();
    streams
        .output()
        .line(
            "serving " + directory + " at " + (http.isEncrypted() ? "https://" : "http://") + url);
    streams.output().flush();
  }

  /** The process ends when its hooks do, so this one waits for the end. */
  private void stop() {
    isAskedToStop.countDown();
    try {
      if (!hasStopped.await(STOP_SECONDS_MAX, TimeUnit.SECONDS)) {
        streams.errors().println(Kvsep.line("not stopped after " + STOP_SECONDS_MAX + " s"));
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
