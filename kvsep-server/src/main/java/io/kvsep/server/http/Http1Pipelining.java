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
 * Runs the pipelined requests of one HTTP/1.1 connection one after the other. Each begins when the
 * previous answer has been sent and the previous body is consumed or dropped. Armeria alone only
 * orders the answers: a write and a read sent together would run concurrently, and any number of
 * answers could wait for their turn or for a client that does not read.
 *
 * <p>While a request waits, the connection is not read, so at most the requests that arrived
 * together wait. If none waits, Armeria controls reading.
 *
 * <p>An answer may be sent before the whole body has arrived. Armeria drops the rest, whose bytes
 * count as activity of the connection. So the next request must then arrive within a time limit.
 *
 * <p>Confined to the event loop of its connection.
 */
final class Http1Pipelining {
  /** Begins a request when its turn has come; must not throw. */
  interface Work {
    HttpResponse begin(ServiceRequestContext context, HttpRequest request);
  }

  private static final AttributeKey<Http1Pipelining> KEY =
      AttributeKey.valueOf(Http1Pipelining.class, "of");

  private final Channel channel;
  private final Queue<Waiting> waiting = new ArrayDeque<>();
  private boolean isTaken;

  /** Closes the connection if the client does not finish a body that was refused. */
  private @Nullable Future<?> patience;

  /**
   * @param promised completes the answer, which Armeria already has
   * @param time limit of the request from its beginning
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

  static Http1Pipelining of(Channel channel) {
    Http1Pipelining turns = channel.attr(KEY).get();
    if (turns == null) {
      turns = new Http1Pipelining(channel);
      channel.attr(KEY).set(turns);
    }
    return turns;
  }

  /** Returns the answer of a request, which begins at once or in its turn. */
  HttpResponse answer(
      ServiceRequestContext context, HttpRequest request, Work work, Duration time) {
    // The previous body is complete if a request follows it.
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
    // The requests before it have time limits of their own.
    context.clearRequestTimeout();
    channel.config().setAutoRead(false);
    return answer;
  }

  /**
   * Armeria reports an answer as complete when the connection takes it; it has been sent when the
   * log has its end time. Only then does Armeria discard the rest of a body. Ending earlier could
   * resume reading where it was stopped for such a body.
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
   * @param restTime how long the rest of the body may take; null if the whole body was consumed
   */
  private void end(@Nullable Duration restTime) {
    EventLoop loop = channel.eventLoop();
    if (loop.inEventLoop() && waiting.isEmpty()) {
      isTaken = false;
      awaitRest(restTime);
    } else {
      // Not called directly: a request answered at once would end here too, and recurse.
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
      // The client has gone, and none of these requests has begun.
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
