package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpMethod;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.ResponseHeaders;
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
 * <p>The bytes of an answer count from its headers on: the library takes the rest only when these
 * have been written, which may be never, and meanwhile the answer lies there. Its time begins when
 * all of it is taken. Of an answer that is made piece by piece only the last piece counts.
 *
 * <p>Belongs to the event loop of its connection. An answer costs one small object; the timer runs
 * once in the time of an answer, however many there are.
 */
final class UnsentResponses {
  /**
   * Of answers that are made piece by piece. The time of any answer is that of a piece at least.
   */
  private static final int PIECE_BYTES = Entries.PIECE_BYTES;

  /** What a request and the headers of its answer take beside that, about. */
  private static final int HEADERS_BYTES = 4 << 10;

  private static final AttributeKey<UnsentResponses> KEY =
      AttributeKey.valueOf(UnsentResponses.class, "of");

  private static final AttributeKey<Boolean> IN_PIECES =
      AttributeKey.valueOf(UnsentResponses.class, "inPieces");

  private final Channel channel;
  private final Total total;

  /** Those that have a time. */
  private final List<Answer> answers = new ArrayList<>();

  /** By which that time is reckoned. */
  private long timedBytes;

  /** Of all that count, with or without a time, and how many these are. */
  private long bytes;

  private int count;
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
    final ServiceRequestContext context;
    boolean counts;
    long bytes;
    long deadlineNanos;

    /** Among those that have a time; -1 when it has none. */
    int index = -1;

    Answer(ServiceRequestContext context) {
      this.context = context;
    }

    boolean isInPieces() {
      return context.hasAttr(IN_PIECES);
    }

    boolean hasGone() {
      return context.log().isAvailable(RequestLogProperty.RESPONSE_END_TIME);
    }

    /** At most. */
    long length() {
      if (!context.log().isAvailable(RequestLogProperty.RESPONSE_HEADERS)) {
        return PIECE_BYTES;
      }
      ResponseHeaders headers = context.log().partial().responseHeaders();
      if (context.method() == HttpMethod.HEAD || headers.status().isContentAlwaysEmpty()) {
        // The length, where there is one, is that of what a GET would bring.
        return 0;
      }
      long length = headers.contentLength();
      return length < 0 ? PIECE_BYTES : isInPieces() ? Math.min(length, PIECE_BYTES) : length;
    }

    /** By these its time is reckoned. */
    long timedBytes() {
      return Math.max(bytes, PIECE_BYTES);
    }
  }

  private UnsentResponses(Channel channel, Total total) {
    this.channel = channel;
    this.total = total;
  }

  /** The answer is made piece by piece; to be called before it begins. */
  static void comesInPieces(ServiceRequestContext context) {
    context.setAttr(IN_PIECES, true);
  }

  /** From the moment at which all of the answer is handed over it has a limited time. */
  static void watch(ServiceRequestContext context, HttpResponse response, Total total) {
    Channel channel = context.log().partial().channel();
    if (channel == null) {
      return;
    }
    Answer answer = new Answer(context);
    CompletableFuture<?> unusedBeginning =
        context
            .log()
            .whenAvailable(RequestLogProperty.RESPONSE_HEADERS)
            .thenRun(() -> onLoop(channel, () -> of(channel, total).begins(answer)));
    CompletableFuture<?> unusedEnd =
        response
            .whenComplete()
            .whenComplete(
                (nothing, failure) ->
                    onLoop(channel, () -> of(channel, total).isHandedOver(answer)));
  }

  private static void onLoop(Channel channel, Runnable work) {
    EventLoop loop = channel.eventLoop();
    if (loop.inEventLoop()) {
      work.run();
    } else {
      loop.execute(work);
    }
  }

  private static UnsentResponses of(Channel channel, Total total) {
    UnsentResponses unsent = channel.attr(KEY).get();
    if (unsent == null) {
      unsent = new UnsentResponses(channel, total);
      channel.attr(KEY).set(unsent);
      UnsentResponses made = unsent;
      ChannelFuture unusedClose = channel.closeFuture().addListener(closed -> made.close());
    }
    return unsent;
  }

  private void begins(Answer answer) {
    if (!answer.isInPieces()) {
      count(answer);
    }
  }

  private void isHandedOver(Answer answer) {
    count(answer);
    if (answer.counts && !answer.hasGone()) {
      time(answer);
    }
  }

  private void count(Answer answer) {
    if (answer.counts || isClosed || answer.hasGone()) {
      return;
    }
    answer.counts = true;
    answer.bytes = HEADERS_BYTES + answer.length();
    if (count++ == 0) {
      total.connections.incrementAndGet();
    }
    bytes += answer.bytes;
    total.bytes.addAndGet(answer.bytes);
    if (total.isTooMuch(bytes)) {
      Connections.cut(channel);
    }
    CompletableFuture<?> unusedEnd =
        answer
            .context
            .log()
            .whenAvailable(RequestLogProperty.RESPONSE_END_TIME)
            .thenRun(() -> onLoop(channel, () -> remove(answer)));
  }

  private void time(Answer answer) {
    long now = System.nanoTime();
    if (answers.isEmpty()) {
      progressNanos = now;
    }
    answer.index = answers.size();
    answers.add(answer);
    timedBytes += answer.timedBytes();
    answer.deadlineNanos = now + nanosFor(timedBytes);
    if (!isTimed) {
      schedule(nanosFor(answer.timedBytes()));
    }
  }

  private long nanosFor(long length) {
    return TimeUnit.MILLISECONDS.toNanos(total.limits.millisFor(length));
  }

  private void remove(Answer answer) {
    if (isClosed) {
      return;
    }
    bytes -= answer.bytes;
    total.bytes.addAndGet(-answer.bytes);
    if (--count == 0) {
      total.connections.decrementAndGet();
    }
    if (answer.index >= 0) {
      progressNanos = System.nanoTime();
      timedBytes -= answer.timedBytes();
      // The last one takes its place.
      Answer last = answers.remove(answers.size() - 1);
      if (last != answer) {
        answers.set(answer.index, last);
        last.index = answer.index;
      }
    }
  }

  private void close() {
    isClosed = true;
    total.bytes.addAndGet(-bytes);
    if (count > 0) {
      total.connections.decrementAndGet();
    }
    answers.clear();
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
    long longest = 0;
    long left = Long.MAX_VALUE;
    for (Answer answer : answers) {
      longest = Math.max(longest, answer.timedBytes());
      left = Math.min(left, answer.deadlineNanos - now);
    }
    left = Math.min(left, progressNanos + nanosFor(longest) - now);
    if (left <= 0) {
      Connections.cut(channel);
    } else {
      schedule(left);
    }
  }
}
