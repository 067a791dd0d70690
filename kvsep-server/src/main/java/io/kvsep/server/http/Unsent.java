package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.logging.RequestLogAccess;
import com.linecorp.armeria.common.logging.RequestLogProperty;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.util.AttributeKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The answers of one connection that the library has as a whole, and the client not yet. The
 * library gives them any time; here the connection is cut when none goes out within the time of
 * one, or when one does not within the time of all that were there when it came. It is also cut
 * when it adds one while all connections have more than they may, and it no less than its share.
 *
 * <p>Belongs to the event loop of its connection. An answer costs one small object; the timer runs
 * once in the time of an answer, however many there are.
 */
final class Unsent {
  /** Longer answers are handed over in pieces, each when the one before it has gone out. */
  private static final int ANSWER_BYTES = Entries.PIECE_BYTES;

  private static final AttributeKey<Unsent> KEY = AttributeKey.valueOf(Unsent.class, "of");

  private final Channel channel;
  private final Total total;
  private final List<Answer> answers = new ArrayList<>();
  private long bytes;
  private long progressNanos;
  private boolean isTimed;
  private boolean isClosed;

  /** What all connections of a server have. Thread safe. */
  static final class Total {
    private final HttpLimits limits;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicInteger connections = new AtomicInteger();

    /** They have as many bytes at most as bodies of requests. */
    Total(HttpLimits limits) {
      this.limits = limits;
    }

    /**
     * Whether there is more than may be, and no less than its share with one of the connections.
     */
    boolean isTooMuch(long ofOne) {
      return bytes.get() > limits.bodiesBytesMax()
          && ofOne >= limits.bodiesBytesMax() / Math.max(1, connections.get());
    }
  }

  private static final class Answer {
    final long deadlineNanos;
    final int bytes;
    int index;

    Answer(long deadlineNanos, int bytes, int index) {
      this.deadlineNanos = deadlineNanos;
      this.bytes = bytes;
      this.index = index;
    }
  }

  private Unsent(Channel channel, Total total) {
    this.channel = channel;
    this.total = total;
  }

  /** From the moment at which all of the answer is handed over it has a limited time. */
  static void watch(ServiceRequestContext context, HttpResponse answer, Total total) {
    Channel channel = context.log().partial().channel();
    if (channel == null) {
      return;
    }
    CompletableFuture<?> unusedEnd =
        answer
            .whenComplete()
            .whenComplete(
                (nothing, failure) -> {
                  EventLoop loop = channel.eventLoop();
                  if (loop.inEventLoop()) {
                    of(channel, total).add(context.log());
                  } else {
                    loop.execute(() -> of(channel, total).add(context.log()));
                  }
                });
  }

  private static Unsent of(Channel channel, Total total) {
    Unsent unsent = channel.attr(KEY).get();
    if (unsent == null) {
      unsent = new Unsent(channel, total);
      channel.attr(KEY).set(unsent);
      Unsent made = unsent;
      ChannelFuture unusedClose = channel.closeFuture().addListener(closed -> made.close());
    }
    return unsent;
  }

  private void add(RequestLogAccess log) {
    if (isClosed || log.isAvailable(RequestLogProperty.RESPONSE_END_TIME)) {
      return;
    }
    long now = System.nanoTime();
    if (answers.isEmpty()) {
      progressNanos = now;
      total.connections.incrementAndGet();
    }
    Answer answer = new Answer(now + nanosFor(answers.size() + 1), lengthOf(log), answers.size());
    answers.add(answer);
    bytes += answer.bytes;
    total.bytes.addAndGet(answer.bytes);
    if (total.isTooMuch(bytes)) {
      Connections.cut(channel);
    }
    if (!isTimed) {
      schedule(nanosFor(1));
    }
    CompletableFuture<?> unusedEnd =
        log.whenAvailable(RequestLogProperty.RESPONSE_END_TIME)
            .thenRun(
                () -> {
                  if (channel.eventLoop().inEventLoop()) {
                    remove(answer);
                  } else {
                    channel.eventLoop().execute(() -> remove(answer));
                  }
                });
  }

  /** At most; of a longer answer only the last piece is left. */
  private static int lengthOf(RequestLogAccess log) {
    long length =
        log.isAvailable(RequestLogProperty.RESPONSE_HEADERS)
            ? log.partial().responseHeaders().contentLength()
            : -1;
    return length < 0 ? ANSWER_BYTES : (int) Math.min(length, ANSWER_BYTES);
  }

  private long nanosFor(int count) {
    return TimeUnit.MILLISECONDS.toNanos(total.limits.millisFor((long) count * ANSWER_BYTES));
  }

  /** The last one takes its place. */
  private void remove(Answer answer) {
    if (isClosed) {
      return;
    }
    progressNanos = System.nanoTime();
    bytes -= answer.bytes;
    total.bytes.addAndGet(-answer.bytes);
    Answer last = answers.remove(answers.size() - 1);
    if (last != answer) {
      answers.set(answer.index, last);
      last.index = answer.index;
    }
    if (answers.isEmpty()) {
      total.connections.decrementAndGet();
    }
  }

  private void close() {
    isClosed = true;
    total.bytes.addAndGet(-bytes);
    if (!answers.isEmpty()) {
      total.connections.decrementAndGet();
      answers.clear();
    }
  }

  private void schedule(long nanos) {
    isTimed = true;
    Future<?> unusedTimer = channel.eventLoop().schedule(this::check, nanos, TimeUnit.NANOSECONDS);
  }

  private void check() {
    isTimed = false;
    if (answers.isEmpty() || !channel.isActive()) {
      return;
    }
    long now = System.nanoTime();
    long left = progressNanos + nanosFor(1) - now;
    for (Answer answer : answers) {
      left = Math.min(left, answer.deadlineNanos - now);
    }
    if (left <= 0) {
      Connections.cut(channel);
    } else {
      schedule(left);
    }
  }
}
