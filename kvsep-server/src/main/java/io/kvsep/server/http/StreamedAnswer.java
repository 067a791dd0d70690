package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.Exceptions;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * An answer made piece by piece, each when the connection has taken the previous one. So a slow
 * client costs one piece of memory and no thread. However the answer ends, including disconnect and
 * timeout, the source is closed once, and never while a piece is being made.
 */
final class StreamedAnswer {
  interface Source extends AutoCloseable {
    /**
     * Returns the next piece, null after the last, or an empty one if none is available yet. Called
     * by one thread at a time.
     */
    @Nullable HttpData next();

    /** How long to wait after an empty piece. */
    default long pauseMillis() {
      return 0;
    }

    /** The threads that make the next piece; null for those of all requests. */
    default @Nullable ScheduledExecutorService executor() {
      return null;
    }

    @Override
    void close();
  }

  private static final Logger LOG = Logger.getLogger("io.kvsep.server.http");

  private final HttpResponseWriter writer = HttpResponse.streaming();
  private final Source source;
  private final ServiceRequestContext context;
  private final ScheduledExecutorService executor;

  // Guarded by this.
  private boolean isOver;

  private StreamedAnswer(Source source, ServiceRequestContext context) {
    this.source = source;
    this.context = context;
    this.executor = context.blockingTaskExecutor();
  }

  /** Makes the first piece on the caller's thread, so an early failure gets its own status. */
  static HttpResponse of(ResponseHeaders headers, Source source, ServiceRequestContext context) {
    return of(headers, source, first(source), context);
  }

  /** Makes the first piece; closes the source on failure. */
  static @Nullable HttpData first(Source source) {
    try {
      return source.next();
    } catch (Throwable e) {
      source.close();
      throw e;
    }
  }

  /** Takes a first piece made before. */
  static HttpResponse of(
      ResponseHeaders headers,
      Source source,
      @Nullable HttpData first,
      ServiceRequestContext context) {
    StreamedAnswer answer = new StreamedAnswer(source, context);
    UnsentResponses.comesInPieces(context);
    // Completes on the connection's event loop, which must not wait for the cursor to close.
    CompletableFuture<?> unusedEnd =
        answer
            .writer
            .whenComplete()
            .whenComplete((nothing, failure) -> runOrInPlace(answer.executor, answer::end));
    answer.writer.write(headers);
    answer.take(first);
    return answer.writer;
  }

  private void take(@Nullable HttpData piece) {
    if (piece == null) {
      writer.close();
    } else if (piece.isEmpty()) {
      askLater();
    } else {
      write(piece);
    }
  }

  private void askLater() {
    try {
      Future<?> unusedStep =
          executor().schedule(this::step, source.pauseMillis(), TimeUnit.MILLISECONDS);
    } catch (RejectedExecutionException e) {
      // The server is stopping, and its threads no longer accept work.
      writer.close();
    }
  }

  private void write(HttpData piece) {
    ScheduledExecutorService threads = executor();
    if (writer.tryWrite(piece)) {
      CompletableFuture<?> unusedNext =
          writer.whenConsumed().thenRun(() -> runOrInPlace(threads, this::step));
    }
  }

  private void step() {
    HttpData piece;
    synchronized (this) {
      if (isOver) {
        return;
      }
      try {
        piece = source.next();
      } catch (Throwable e) {
        fail(e);
        return;
      }
    }
    take(piece);
  }

  /** The status has been sent already, so the answer is aborted, which clients notice. */
  private void fail(Throwable failure) {
    if (!Exceptions.isStreamCancelling(failure)) {
      LOG.log(Level.WARNING, "an answer broke off: " + failure.getMessage(), failure);
    }
    writer.close(failure);
  }

  private void end() {
    synchronized (this) {
      if (!isOver) {
        isOver = true;
        source.close();
      }
    }
    Channel channel = context.isTimedOut() ? context.log().partial().channel() : null;
    if (channel == null) {
      return;
    }
    // Armeria queues its own reset or close after data that the client may never take.
    if (context.sessionProtocol().isMultiplex()) {
      Duration time = Duration.ofMillis(context.config().requestTimeoutMillis());
      Connections.cutUnlessTaken(channel, time);
    } else {
      ChannelFuture unusedClose = channel.close();
    }
  }

  private ScheduledExecutorService executor() {
    ScheduledExecutorService own = source.executor();
    return own == null ? executor : own;
  }

  private static void runOrInPlace(Executor threads, Runnable task) {
    try {
      threads.execute(task);
    } catch (RejectedExecutionException e) {
      // The server is stopping, and its threads no longer accept work.
      task.run();
    }
  }
}
