package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.exceptions.StateMachineException;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.jspecify.annotations.Nullable;

/**
 * Puts requests of concurrent callers into common entries, because what limits a group is the
 * number of entries, not their bytes. An idle group gets a request at once. While an entry is under
 * way, requests are gathered for 5 ms, or until there is a MiB of them; then more entries are under
 * way, up to {@link #FLIGHTS_MAX}. The callers of an entry that was answered are likely to come
 * again, so up to a millisecond is given to as many. Thread safe.
 */
final class WriteGatherer implements AutoCloseable {
  static final int FLIGHTS_MAX = 64;

  private static final int ENTRY_BYTES = 1 << 20;
  private static final Duration REJOIN = Duration.ofMillis(1);
  private static final Duration GATHER = Duration.ofMillis(5);

  /** What became of a request, and the index of its entry. */
  record Outcome(long index, Answer answer) {}

  private record Waiting(
      byte[] request, boolean alone, long since, CompletableFuture<Outcome> outcome) {}

  private final Supplier<RaftClient> clients;
  private final Duration replyTimeout;
  private final long rejoinNanos;
  private final long gatherNanos;
  private final Thread sender = new Thread(this::run, "cluster-send");

  private final Object lock = new Object();

  @GuardedBy("lock")
  private final Deque<Waiting> queue = new ArrayDeque<>();

  @GuardedBy("lock")
  private long queuedBytes;

  @GuardedBy("lock")
  private int flights;

  /** Requests of the last entry that was answered. */
  @GuardedBy("lock")
  private int expected;

  /** Fails for good once it has given up a request, so it is replaced then. */
  @GuardedBy("lock")
  private RaftClient client;

  @GuardedBy("lock")
  private boolean closed;

  /**
   * @param clients makes clients of the group; they are closed here
   * @param replyTimeout longer than they repeat a request; one that lost it would hang its caller
   */
  WriteGatherer(Supplier<RaftClient> clients, Duration replyTimeout) {
    this(clients, replyTimeout, REJOIN, GATHER);
  }

  /**
   * @param rejoin how long an entry waits for the callers of the last one
   * @param gather how long requests wait while an entry is under way
   */
  WriteGatherer(
      Supplier<RaftClient> clients, Duration replyTimeout, Duration rejoin, Duration gather) {
    this.clients = clients;
    this.replyTimeout = replyTimeout;
    rejoinNanos = rejoin.toNanos();
    gatherNanos = gather.toNanos();
    client = clients.get();
    sender.setDaemon(true);
    sender.start();
  }

  /**
   * Sends a request. The result completes when the group has applied it.
   *
   * @param alone whether the request must have an entry of its own
   */
  CompletableFuture<Outcome> submit(byte[] request, boolean alone) {
    CompletableFuture<Outcome> outcome = new CompletableFuture<>();
    synchronized (lock) {
      if (closed) {
        throw new ClusterException("the replicated store is closed", null, false);
      }
      queue.add(new Waiting(request, alone, System.nanoTime(), outcome));
      queuedBytes += request.length;
      if (queue.size() == 1 || nanosUntilDue() == 0) {
        lock.notifyAll();
      }
    }
    return outcome;
  }

  /** Requests without an answer fail. */
  @Override
  public void close() {
    List<Waiting> left;
    RaftClient last;
    synchronized (lock) {
      closed = true;
      left = new ArrayList<>(queue);
      queue.clear();
      last = client;
      lock.notifyAll();
    }
    close(last);
    for (Waiting waiting : left) {
      waiting.outcome.completeExceptionally(new IOException("the replicated store is closed"));
    }
  }

  private void run() {
    List<Waiting> entry = new ArrayList<>();
    try {
      while (take(entry)) {
        send(List.copyOf(entry));
        entry.clear();
      }
    } catch (RuntimeException | Error e) {
      // Such as a lack of memory: callers would wait for ever.
      complete(entry, null, e);
      close();
      throw e;
    }
  }

  private boolean take(List<Waiting> entry) {
    synchronized (lock) {
      for (long nanos = nanosUntilDue(); nanos > 0 && !closed; nanos = nanosUntilDue()) {
        try {
          TimeUnit.NANOSECONDS.timedWait(lock, nanos);
        } catch (InterruptedException e) {
          // Only closing ends this thread.
        }
      }
      if (closed) {
        return false;
      }
      long bytes = 0;
      do {
        Waiting next = queue.remove();
        entry.add(next);
        bytes += next.request.length;
      } while (!queue.isEmpty()
          && !entry.get(0).alone
          && !queue.element().alone
          && bytes + queue.element().request.length <= ENTRY_BYTES);
      queuedBytes -= bytes;
      flights++;
      return true;
    }
  }

  /** Of the next entry; {@code Long.MAX_VALUE} if only a request or an answer can make one due. */
  @GuardedBy("lock")
  private long nanosUntilDue() {
    Waiting first = queue.peek();
    if (first == null || flights >= FLIGHTS_MAX) {
      return Long.MAX_VALUE;
    }
    boolean idle = flights == 0;
    if (queuedBytes >= ENTRY_BYTES || (idle && queue.size() >= expected)) {
      return 0;
    }
    return Math.max(0, first.since + (idle ? rejoinNanos : gatherNanos) - System.nanoTime());
  }

  private void send(List<Waiting> entry) {
    CompletableFuture<RaftClientReply> reply;
    RaftClient used;
    synchronized (lock) {
      used = client;
    }
    try {
      byte[] body = LogEntry.body(entry.stream().map(Waiting::request).toList());
      reply =
          used.async()
              .send(Message.valueOf(UnsafeByteOperations.unsafeWrap(body)))
              .orTimeout(replyTimeout.toMillis(), TimeUnit.MILLISECONDS);
    } catch (RuntimeException | Error e) {
      // Without an answer its callers would wait for ever.
      reply = CompletableFuture.failedFuture(e);
    }
    var unused =
        reply.whenComplete(
            (answered, e) -> {
              // An Error, as for lack of threads, must not keep the callers waiting.
              try {
                if (e != null && !isRefusal(e)) {
                  replace(used);
                }
              } finally {
                synchronized (lock) {
                  flights--;
                  expected = entry.size();
                  lock.notifyAll();
                }
                complete(entry, answered, e);
              }
            });
  }

  /** Says nothing about the client, whose other requests go on. */
  private static boolean isRefusal(Throwable e) {
    return (e instanceof CompletionException ? e.getCause() : e) instanceof StateMachineException;
  }

  /** Its reply is being handled under its locks, and closing it waits for others that need them. */
  private void replace(RaftClient failed) {
    synchronized (lock) {
      if (closed || client != failed) {
        return;
      }
      try {
        client = clients.get();
      } catch (RuntimeException e) {
        // The failed one stays; its next failure tries again. Callers must get their answers.
        return;
      }
    }
    Thread closer = new Thread(() -> close(failed), "cluster-close-client");
    closer.setDaemon(true);
    closer.start();
  }

  private static void close(RaftClient client) {
    try {
      client.close();
    } catch (IOException e) {
      // It sends nothing any more.
    }
  }

  private static void complete(
      List<Waiting> entry, @Nullable RaftClientReply reply, @Nullable Throwable e) {
    Throwable failure = e;
    if (reply != null && reply.isSuccess()) {
      try {
        List<Answer> answers = Answer.decode(reply.getMessage().getContent().toByteArray());
        if (answers.size() != entry.size()) {
          throw new MalformedEntryException(answers.size() + " answers");
        }
        for (int i = 0; i < answers.size(); i++) {
          entry.get(i).outcome.complete(new Outcome(reply.getLogIndex(), answers.get(i)));
        }
        return;
      } catch (MalformedEntryException malformed) {
        failure = malformed;
      }
    } else if (reply != null) {
      failure = reply.getException();
    }
    for (Waiting waiting : entry) {
      waiting.outcome.completeExceptionally(
          failure == null ? new IOException("no answer") : failure);
    }
  }
}
