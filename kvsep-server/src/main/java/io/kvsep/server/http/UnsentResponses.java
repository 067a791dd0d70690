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
 * Answers of one connection that Armeria holds completely but the client has not taken. Armeria
 * sets no time limit for them. The connection is cut if
 *
 * <ol>
 *   <li>no answer is sent within the time allowed for the longest of them,
 *   <li>an answer is not sent within the time allowed for all that were waiting when it came, or
 *   <li>it adds an answer while all connections together exceed their limit and it has at least an
 *       equal share.
 * </ol>
 *
 * <p>An answer counts from its headers on: Armeria takes the rest only after these are written,
 * which may be never, and meanwhile the answer stays in memory. Its time begins when all of it is
 * handed over. Of a streamed answer only the last piece counts.
 *
 * <p>Confined to the event loop of its connection. Costs one small object per answer. The timer
 * runs once per time limit, not per answer.
 */
final class UnsentResponses {
  /** Bytes of a piece of a streamed answer. Any answer gets at least the time of a piece. */
  private static final int PIECE_BYTES = Entries.PIECE_BYTES;

  /** Approximate size of a request and the headers of its answer. */
  private static final int HEADERS_BYTES = 4 << 10;

  private static final AttributeKey<UnsentResponses> KEY =
      AttributeKey.valueOf(UnsentResponses.class, "of");

  private static final AttributeKey<Boolean> IN_PIECES =
      AttributeKey.valueOf(UnsentResponses.class, "inPieces");

  private final Channel channel;
  private final Total total;

  /** Answers with a deadline. */
  private final List<Answer> answers = new ArrayList<>();

  /** Bytes of these answers, as counted for their deadlines. */
  private long timedBytes;

  /** Bytes of all counted answers, with or without a deadline; {@code count} is their number. */
  private long bytes;

  private int count;
  private long progressNanos;
  private boolean isTimed;
  private boolean isClosed;

  /** The totals of all connections of a server. Thread safe. */
  static final class Total {
    private final HttpLimits limits;
    private final AtomicLong bytes = new AtomicLong();
    private final AtomicInteger connections = new AtomicInteger();

    /** The limit is the one for bodies of requests. */
    Total(HttpLimits limits) {
      this.limits = limits;
    }

    /** Whether the total exceeds the limit and the connection holds at least its share. */
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

    /** Index in {@code answers}; -1 without a deadline. */
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

    /** Upper bound of the body's length in memory. */
    long length() {
      if (!context.log().isAvailable(RequestLogProperty.RESPONSE_HEADERS)) {
        return PIECE_BYTES;
      }
      ResponseHeaders headers = context.log().partial().responseHeaders();
      if (context.method() == HttpMethod.HEAD || headers.status().isContentAlwaysEmpty()) {
        // The content length, if present, is that of a GET.
        return 0;
      }
      long length = headers.contentLength();
      return length < 0 ? PIECE_BYTES : isInPieces() ? Math.min(length, PIECE_BYTES) : length;
    }

    /** The bytes that its deadline allows for. */
    long timedBytes() {
      return Math.max(bytes, PIECE_BYTES);
    }
  }

  private UnsentResponses(Channel channel, Total total) {
    this.channel = channel;
    this.total = total;
  }

  /** Marks the answer as streamed; called before it begins. */
  static void comesInPieces(ServiceRequestContext context) {
    context.setAttr(IN_PIECES, true);
  }

  /** Counts the answer, and sets its deadline when all of it is handed over. */
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
      // Fills the gap with the last one.
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
