package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.logging.RequestLogAccess;
import com.linecorp.armeria.common.logging.RequestLogProperty;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.channel.EventLoop;
import io.netty.util.AttributeKey;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;

/**
 * The answers of one connection that the library has as a whole, and the client not yet. The
 * library gives them any time; here the connection is cut when none goes out within the time of
 * one, or when one does not within the time of all that were there when it came.
 *
 * <p>Belongs to the event loop of its connection. An answer costs one small object; the timer runs
 * once in the time of an answer, however many there are.
 */
final class Unsent {
  /** Longer answers are handed over in pieces, each when the one before it has gone out. */
  private static final int ANSWER_BYTES = Entries.PIECE_BYTES;

  private static final AttributeKey<Unsent> KEY = AttributeKey.valueOf(Unsent.class, "of");

  private final Channel channel;
  private final HttpLimits limits;
  private final List<Answer> answers = new ArrayList<>();
  private long progressNanos;
  private boolean isTimed;

  private static final class Answer {
    final long deadlineNanos;
    int index;

    Answer(long deadlineNanos, int index) {
      this.deadlineNanos = deadlineNanos;
      this.index = index;
    }
  }

  private Unsent(Channel channel, HttpLimits limits) {
    this.channel = channel;
    this.limits = limits;
  }

  /** From the moment at which all of the answer is handed over it has a limited time. */
  static void watch(ServiceRequestContext context, HttpResponse answer, HttpLimits limits) {
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
                    of(channel, limits).add(context.log());
                  } else {
                    loop.execute(() -> of(channel, limits).add(context.log()));
                  }
                });
  }

  private static Unsent of(Channel channel, HttpLimits limits) {
    Unsent unsent = channel.attr(KEY).get();
    if (unsent == null) {
      unsent = new Unsent(channel, limits);
      channel.attr(KEY).set(unsent);
    }
    return unsent;
  }

  private void add(RequestLogAccess log) {
    if (log.isAvailable(RequestLogProperty.RESPONSE_END_TIME)) {
      return;
    }
    long now = System.nanoTime();
    if (answers.isEmpty()) {
      progressNanos = now;
    }
    Answer answer = new Answer(now + nanosFor(answers.size() + 1), answers.size());
    answers.add(answer);
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

  private long nanosFor(int count) {
    return TimeUnit.MILLISECONDS.toNanos(limits.millisFor((long) count * ANSWER_BYTES));
  }

  /** The last one takes its place. */
  private void remove(Answer answer) {
    progressNanos = System.nanoTime();
    Answer last = answers.remove(answers.size() - 1);
    if (last != answer) {
      answers.set(answer.index, last);
      last.index = answer.index;
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
