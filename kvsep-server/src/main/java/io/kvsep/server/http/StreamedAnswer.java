package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpResponseWriter;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.Exceptions;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
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
    /** The next piece, null behind the last. Called by one thread at a time. */
    @Nullable HttpData next();

    @Override
    void close();
  }

  private static final Logger LOG = Logger.getLogger("io.kvsep.server.http");

  private final HttpResponseWriter writer = HttpResponse.streaming();
  private final Source source;
  private final Executor executor;

  // Guarded by this.
  private boolean isOver;

  private StreamedAnswer(Source source, Executor executor) {
    this.source = source;
    this.executor = executor;
  }

  /** The caller's thread makes the first piece, so that what fails at once has its status. */
  static HttpResponse of(ResponseHeaders headers, Source source, Executor executor) {
    StreamedAnswer answer = new StreamedAnswer(source, executor);
    HttpData first;
    try {
      first = source.next();
    } catch (Throwable e) {
      source.close();
      throw e;
    }
    // It completes on the loop of the connection, where closing a cursor must not be waited for.
    CompletableFuture<?> unusedEnd =
        answer
            .writer
            .whenComplete()
            .whenComplete((nothing, failure) -> answer.runOrInPlace(answer::end));
    answer.writer.write(headers);
    if (first == null) {
      answer.writer.close();
    } else {
      answer.write(first);
    }
    return answer.writer;
  }

  private void write(HttpData piece) {
    if (writer.tryWrite(piece)) {
      CompletableFuture<?> unusedNext =
          writer.whenConsumed().thenRun(() -> runOrInPlace(this::step));
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
    if (piece == null) {
      writer.close();
    } else {
      write(piece);
    }
  }

  /** The status is gone out already: all that can be done is to break off, which clients see. */
  private void fail(Throwable failure) {
    if (!Exceptions.isStreamCancelling(failure)) {
      LOG.log(Level.WARNING, "an answer broke off: " + failure.getMessage(), failure);
    }
    writer.close(failure);
  }

  private synchronized void end() {
    if (!isOver) {
      isOver = true;
      source.close();
    }
  }

  private void runOrInPlace(Runnable task) {
    try {
      executor.execute(task);
    } catch (RejectedExecutionException e) {
      // The server is stopping; nobody else is left to do it.
      task.run();
    }
  }
}
