package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Limits the load: requests, open change feeds, and bytes on the heap (bodies, objects made from
 * them, values unpacked for answers). Thread safe.
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

  /** Refuses new requests from now on; running ones continue. */
  void stop() {
    isStopping = true;
  }

  boolean isStopping() {
    return isStopping;
  }

  /** Throws if the server is stopping: shutdown would not end while clients keep asking. */
  void requireOpen() {
    if (isStopping) {
      throw Problem.overloaded("the server is stopping")
          .header(HttpHeaderNames.CONNECTION, "close");
    }
  }

  /** Throws if too many requests run. */
  Visit enter() {
    if (requests.incrementAndGet() > limits.requestsMax()) {
      requests.decrementAndGet();
      throw Problem.overloaded("more than " + limits.requestsMax() + " requests at once");
    }
    return new Visit();
  }

  /** Throws if too many feeds are open; otherwise the caller must call {@link #closeFeed}. */
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
   * Counts bytes on the heap until an answer is sent; throws if the limit is exceeded. More bytes
   * than the limit count as the limit, so they are admitted when nothing else is held.
   */
  Held hold(long bytes) {
    long counted = Math.min(bytes, limits.bodiesBytesMax());
    take(counted);
    return new Held(counted);
  }

  /** Bytes counted until closed. Not thread safe. */
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
   * One request. Ends when its work is done and its answer is sent, in either order: the request of
   * a client that left counts while a thread works for it.
   */
  final class Visit {
    private final AtomicInteger parts = new AtomicInteger(2);
    private final AtomicLong reserved = new AtomicLong();

    private Visit() {}

    /** Throws if this many more bytes, of the body or made from it, exceed the limit. */
    void reserve(long bytes) {
      if (bytes > limits.bodiesBytesMax() - reserved.get()) {
        throw Problem.tooLarge(
            "the request takes more than " + limits.bodiesBytesMax() + " bytes of memory");
      }
      take(bytes);
      reserved.addAndGet(bytes);
    }

    /** Called twice: after the work and after the answer. */
    void partIsDone() {
      if (parts.decrementAndGet() == 0) {
        bodyBytes.addAndGet(-reserved.get());
        requests.decrementAndGet();
      }
    }
  }
}
