package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpData;
import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpResponse;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.ResponseHeaders;
import com.linecorp.armeria.common.util.TimeoutMode;
import com.linecorp.armeria.server.ServiceRequestContext;
import io.kvsep.KvStore;
import io.kvsep.server.cluster.ClusterNode;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.OutputStream;
import java.util.Arrays;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.jspecify.annotations.Nullable;

/**
 * {@code /v1/backup}: a full backup of the store. Runs one at a time: each takes one of the threads
 * for long values, which writes into a short queue and waits while the client takes nothing.
 */
final class BackupApi {
  private static final String TYPE = "application/vnd.kvsep.backup";
  private static final int PIECE_BYTES = 64 << 10;
  private static final int PIECES_MAX = 4;

  /** How long a thread waits for the queue before it looks whether the other side has ended. */
  private static final long WAIT_MILLIS = 20;

  private final KvStore store;
  private final @Nullable ClusterNode node;
  private final HttpLimits limits;
  private final ScheduledExecutorService longWorkers;
  private final AtomicBoolean isUnderWay = new AtomicBoolean();

  /**
   * @param node null on a server of one store
   */
  BackupApi(
      KvStore store,
      @Nullable ClusterNode node,
      HttpLimits limits,
      ScheduledExecutorService longWorkers) {
    this.store = store;
    this.node = node;
    this.limits = limits;
    this.longWorkers = longWorkers;
  }

  HttpResponse backup(Exchange exchange) {
    KvStore source = source(exchange.parameters(Set.of("shard")).whole("shard"));
    if (!isUnderWay.compareAndSet(false, true)) {
      throw Problem.of(
          HttpStatus.CONFLICT, "upkeep-under-way", "another backup is under way; try again");
    }
    Pieces pieces = new Pieces(exchange.context(), source);
    try {
      // A node of a cluster waits until it has what was acknowledged before.
      source.snapshot().close();
      longWorkers.execute(pieces::write);
    } catch (RejectedExecutionException e) {
      isUnderWay.set(false);
      throw Problem.overloaded("the server is stopping");
    } catch (Throwable e) {
      isUnderWay.set(false);
      throw e;
    }
    HttpData first;
    do {
      first = StreamedAnswer.first(pieces);
    } while (first != null && first.isEmpty());
    return StreamedAnswer.of(
        ResponseHeaders.of(
            HttpStatus.OK,
            HttpHeaderNames.CONTENT_TYPE,
            TYPE,
            HttpHeaderNames.CACHE_CONTROL,
            "no-store"),
        pieces,
        first,
        exchange.context());
  }

  /** The shard of that number; without one, the store if it has no others. */
  private KvStore source(@Nullable Long shard) {
    int shards = node == null ? 1 : node.shards();
    if (shard == null ? shards > 1 : shard < 0 || shard >= shards) {
      throw Problem.malformed("a backup is of one shard: shard is from 0 to " + (shards - 1));
    }
    return node == null || shard == null ? store : node.store(shard.intValue());
  }

  /** The writing thread fills it as a stream; those of the answer empty it. */
  private final class Pieces extends OutputStream implements StreamedAnswer.Source {
    private final ServiceRequestContext context;
    private final KvStore source;
    private final BlockingQueue<byte[]> queue = new ArrayBlockingQueue<>(PIECES_MAX);
    private final CompletableFuture<@Nullable Void> written = new CompletableFuture<>();
    private volatile boolean isClosed;

    // Of the writing thread.
    private byte[] piece = new byte[PIECE_BYTES];
    private int length;

    Pieces(ServiceRequestContext context, KvStore source) {
      this.context = context;
      this.source = source;
    }

    void write() {
      try {
        source.backup(this, 0);
        handOver();
        written.complete(null);
      } catch (Throwable e) {
        written.completeExceptionally(e);
      } finally {
        isUnderWay.set(false);
      }
    }

    @Override
    public void write(int value) throws IOException {
      write(new byte[] {(byte) value}, 0, 1);
    }

    @Override
    public void write(byte[] source, int offset, int count) throws IOException {
      int done = 0;
      while (done < count) {
        if (length == PIECE_BYTES) {
          handOver();
        }
        int some = Math.min(count - done, PIECE_BYTES - length);
        System.arraycopy(source, offset + done, piece, length, some);
        length += some;
        done += some;
      }
    }

    private void handOver() throws IOException {
      byte[] full = length == PIECE_BYTES ? piece : Arrays.copyOf(piece, length);
      try {
        boolean isTaken;
        do {
          if (isClosed) {
            throw new IOException("the client has left");
          }
          isTaken = queue.offer(full, WAIT_MILLIS, TimeUnit.MILLISECONDS);
        } while (!isTaken);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new InterruptedIOException("interrupted");
      }
      piece = new byte[PIECE_BYTES];
      length = 0;
    }

    @Override
    public @Nullable HttpData next() {
      // Asked before the queue: what is written last is then found in it.
      boolean isWhole = written.isDone();
      byte[] next;
      try {
        next = queue.poll(isWhole ? 0 : WAIT_MILLIS, TimeUnit.MILLISECONDS);
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException("interrupted", e);
      }
      if (next == null && isWhole) {
        written.join();
        return null;
      }
      if (next == null || next.length == 0) {
        context.clearRequestTimeout();
        return HttpData.empty();
      }
      // The client has to take each piece within this time.
      context.setRequestTimeoutMillis(TimeoutMode.SET_FROM_NOW, limits.requestTime().toMillis());
      return HttpData.wrap(next);
    }

    @Override
    public void close() {
      isClosed = true;
    }
  }
}
