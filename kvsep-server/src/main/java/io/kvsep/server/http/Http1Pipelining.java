package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpRequest;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.logging.RequestLogProperty;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.EventLoop;
import io.netty.util.AttributeKey;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Has the requests of one HTTP/1.1 connection carried out one after the other: each begins when the
 * answer of the one before it has gone out and its body is gone. The library hands over whatever a
 * client has sent and brings nothing but the answers in order: a write and a read that were sent
 * together would run beside each other, and of answers that wait for their turn, or for a client
 * that does not read, there could be any number.
 *
 * <p>While a request waits, nothing is read from the connection, so that no more of them are here
 * than came at once. Where nobody waits, the reading is the affair of the library alone.
 *
 * <p>An answer may be given before all of the body has come. The library drops the rest, and each
 * byte of it shows that the connection is in use; so there is a time until the next request.
 *
 * <p>Belongs to the event loop of its connection.
 */
final class Http1Pipelining {
  /** What a request is when its turn has come; throws nothing. */
  interface Work {
    HttpResponse begin(ServiceRequestContext context, HttpRequest request);
  }

  private static final AttributeKey<Http1Pipelining> KEY =
      AttributeKey.valueOf(Http1Pipelining.class, "of");

  private final Channel channel;
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private boolean isTaken;

  /** Ends the connection of a client that is not through with a body nobody waits for. */
  private @Nullable Future<?> patience;

  /**
   * @param promised completes the answer, which the library has already
   * @param time how long it may take from its beginning
   */
  private record Waiting(
      ServiceRequestContext context,
      HttpRequest request,
      Work work,
      CompletableFuture<HttpResponse> promised,
      HttpResponse answer,
      Duration time) {}

  private Http1Pipelining(Channel channel) {
    this.channel = channel;
    ChannelFuture unusedEnd = channel.closeFuture().addListener(closed -> forgetRest());
  }

  /** Those of a connection. */
  static Http1Pipelining of(Channel channel) {
    Http1Pipelining turns = channel.attr(KEY).get();
    if (turns == null) {
      turns = new Http1Pipelining(channel);
      channel.attr(KEY).set(turns);
    }
    return turns;
  }

  /** The answer of a request, which begins at once or in its turn. */
  HttpResponse answer(
      ServiceRequestContext context, HttpRequest request, Work work, Duration time) {
    // It comes behind all of the one before.
    forgetRest();
    if (!isTaken) {
      isTaken = true;
      HttpResponse answer = work.begin(context, request);
      endWith(context, request, time);
      return answer;
    }
    CompletableFuture<HttpResponse> promised = new CompletableFuture<>();
    HttpResponse answer = HttpResponse.of(promised);
    waiting.add(new Waiting(context, request, work, promised, answer, time));
    // What it waits for has a time of its own.
    context.clearRequestTimeout();
    channel.config().setAutoRead(false);
    return answer;
  }

  /**
   * An answer is complete for the library once it is handed over to the connection; it has gone out
   * when the log knows its end. Only then does the library let go of what is left of a body.
   * Without waiting for that, reading could be taken up again where it has stopped for such a body.
   */
  private void endWith(ServiceRequestContext context, HttpRequest request, Duration time) {
    CompletableFuture<?> unusedEnd =
        context
            .log()
            .whenAvailable(RequestLogProperty.RESPONSE_END_TIME)
            .whenComplete(
                (log, failure) -> {
                  CompletableFuture<?> unusedRest =
                      request
                          .whenComplete()
                          .whenComplete((nothing, dropped) -> end(dropped == null ? null : time));
                });
  }

  /**
   * @param restTime how long what is left of the body may take; null where all of it was wanted
   */
  private void end(@Nullable Duration restTime) {
    EventLoop loop = channel.eventLoop();
    if (loop.inEventLoop() && waiting.isEmpty()) {
      isTaken = false;
      awaitRest(restTime);
    } else {
      // Not from here: one that is answered at once would end in here, too, and so on.
      loop.execute(
          () -> {
            awaitRest(restTime);
            next();
          });
    }
  }

  private void awaitRest(@Nullable Duration time) {
    if (time != null && waiting.isEmpty() && channel.isActive()) {
      Runnable givingUp =
          () -> {
            ChannelFuture unusedClose = channel.close();
          };
      patience = channel.eventLoop().schedule(givingUp, time.toMillis(), TimeUnit.MILLISECONDS);
    }
  }

  private void forgetRest() {
    Future<?> waits = patience;
    if (waits != null) {
      waits.cancel(false);
      patience = null;
    }
  }

  private void next() {
    if (!channel.isActive()) {
      // Nobody is left to be answered, and nothing of these has been done.
      waiting.clear();
    }
    Waiting next = waiting.poll();
    while (next != null && next.answer().isComplete()) {
      next = waiting.poll();
    }
    if (waiting.isEmpty()) {
      channel.config().setAutoRead(true);
    }
    if (next == null) {
      isTaken = false;
      return;
    }
    next.context().setRequestTimeoutMillis(TimeoutMode.SET_FROM_NOW, next.time().toMillis());
    endWith(next.context(), next.request(), next.time());
    next.promised().complete(next.work().begin(next.context(), next.request()));
  }
}
