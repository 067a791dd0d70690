package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * How much is going on at once: requests, bytes of their bodies, of what is made of these, and of
 * values that were unpacked for answers, feeds. Thread safe.
 */
final class AdmissionControl {
  private final HttpLimits limits;
  private final AtomicInteger requests = new AtomicInteger();
  private final AtomicLong bodyBytes = new AtomicLong();
  private final AtomicInteger feeds = new AtomicInteger();
  private volatile boolean isStopping;

  AdmissionControl(HttpLimits limits) {
    this.limits = limits;
  }

  /** From now on nobody may come in; whoever is in stays. */
  void stop() {
    isStopping = true;
  }

  boolean isStopping() {
    return isStopping;
  }

  /** Throws when the server is stopping: it would wait for ever for clients that go on asking. */
  void requireOpen() {
    if (isStopping) {
      throw Problem.overloaded("the server is stopping")
          .header(HttpHeaderNames.CONNECTION, "close");
    }
  }

  /** Throws when there are too many. */
  Visit enter() {
    if (requests.incrementAndGet() > limits.requestsMax()) {
      requests.decrementAndGet();
      throw Problem.overloaded("more than " + limits.requestsMax() + " requests at once");
    }
    return new Visit();
  }

  /** Throws when there are too many; else {@link #closeFeed} is to follow. */
  void openFeed() {
    if (feeds.incrementAndGet() > limits.feedsMax()) {
      feeds.decrementAndGet();
      throw Problem.overloaded("more than " + limits.feedsMax() + " change feeds at once");
    }
  }

  void closeFeed() {
    feeds.decrementAndGet();
  }

  int feeds() {
    return feeds.get();
  }

  int requests() {
    return requests.get();
  }

  long bodyBytes() {
    return bodyBytes.get();
  }

  private void take(long bytes) {
    long before;
    do {
      before = bodyBytes.get();
      if (bytes > limits.bodiesBytesMax() - before) {
        throw Problem.overloaded(
            "more than "
                + limits.bodiesBytesMax()
                + " bytes of requests and unpacked values at once");
      }
    } while (!bodyBytes.compareAndSet(before, before + bytes));
  }

  /**
   * Counts bytes that lie on the heap as long as an answer goes out; throws when there is no room.
   * What is longer than all may be has room where there is nothing else.
   */
  Held hold(long bytes) {
    long counted = Math.min(bytes, limits.bodiesBytesMax());
    take(counted);
    return new Held(counted);
  }

  /** Until it is closed. Of one thread at a time. */
  final class Held implements AutoCloseable {
    private long bytes;

    private Held(long bytes) {
      this.bytes = bytes;
    }

    @Override
    public void close() {
      bodyBytes.addAndGet(-bytes);
      bytes = 0;
    }
  }

  /**
   * One request. It is over when its work is done and its answer is gone, in whatever order: a
   * client that leaves does not make room for the next one while a thread still works for it.
   */
  final class Visit {
    private final AtomicInteger parts = new AtomicInteger(2);
    private final AtomicLong reserved = new AtomicLong();

    private Visit() {}

    /** Throws when there is no room for so much more of the body, or of what is made of it. */
    void reserve(long bytes) {
      if (bytes > limits.bodiesBytesMax() - reserved.get()) {
        throw Problem.tooLarge(
            "the request takes more than " + limits.bodiesBytesMax() + " bytes of memory");
      }
      take(bytes);
      reserved.addAndGet(bytes);
    }

    /** To be called twice: for the work and for the answer. */
    void partIsDone() {
      if (parts.decrementAndGet() == 0) {
        bodyBytes.addAndGet(-reserved.get());
        requests.decrementAndGet();
      }
    }
  }
}
