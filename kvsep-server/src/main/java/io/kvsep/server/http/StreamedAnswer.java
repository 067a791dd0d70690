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
 * An answer that is made piece by piece, each when the one before it has been taken by the client's
 * connection: a slow client costs one piece of memory and no thread. Whatever ends the answer, the
 * client's leaving and the time limit included, closes the source once and never while a piece is
 * being made.
 */
final class StreamedAnswer {
  /** Where the pieces come from. */
  interface Source extends AutoCloseable {
    /**
     * The next piece, null behind the last. An empty one says that there is none as yet. Called by
     * one thread at a time.
     */
    @Nullable HttpData next();

    /** How long to wait before asking again, where there was no piece as yet. */
    default long pauseMillis() {
      return 0;
    }

    /** Who makes the next piece; null for the threads of all requests. */
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

  /** The caller's thread makes the first piece, so that what fails at once has its status. */
  static HttpResponse of(ResponseHeaders headers, Source source, ServiceRequestContext context) {
    return of(headers, source, first(source), context);
  }

  /** The first piece; what fails closes the source. */
  static @Nullable HttpData first(Source source) {
    try {
      return source.next();
    } catch (Throwable e) {
      source.close();
      throw e;
    }
  }

  /** With a first piece that was made before. */
  static HttpResponse of(
      ResponseHeaders headers,
      Source source,
      @Nullable HttpData first,
      ServiceRequestContext context) {
    StreamedAnswer answer = new StreamedAnswer(source, context);
    UnsentResponses.comesInPieces(context);
    // It completes on the loop of the connection, where closing a cursor must not be waited for.
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
      // The server is stopping; nobody is left who could ask.
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

  /** The status is gone out already: all that can be done is to break off, which clients see. */
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
    // What the library does about it stands behind what the client has not taken, which may be so
    // for ever.
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
      // The server is stopping; nobody else is left to do it.
      task.run();
    }
  }
}
