package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftClientRequest;
import org.apache.ratis.protocol.RaftGroupId;
import org.jspecify.annotations.Nullable;

/**
 * Waits until the store of this node has everything that was acknowledged before the call: asks the
 * leader for its commit index and waits for that. One question is under way at a time; calls that
 * begin meanwhile share the next. Thread safe.
 */
final class ReadBarrier {
  private final RaftNode node;
  private final RaftGroupId group;
  private final Duration timeout;

  private final Object lock = new Object();

  @GuardedBy("lock")
  private boolean asking;

  /** For calls that began after the question under way was asked. */
  @GuardedBy("lock")
  private @Nullable CompletableFuture<Void> next;

  ReadBarrier(RaftNode node, RaftGroupId group, Duration timeout) {
    this.node = node;
    this.group = group;
    this.timeout = timeout;
  }

  /**
   * @throws ClusterException if the leader did not answer in time
   */
  void await() {
    CompletableFuture<Void> mine;
    synchronized (lock) {
      if (next == null) {
        next = new CompletableFuture<>();
      }
      mine = next;
    }
    askNext();
    try {
      mine.join();
    } catch (CompletionException e) {
      Throwable cause = e.getCause();
      throw new ClusterException(
          "the leader did not say within " + timeout + " what is committed", cause, false);
    }
  }

  private void askNext() {
    CompletableFuture<Void> answered;
    synchronized (lock) {
      if (asking || next == null) {
        return;
      }
      asking = true;
      answered = next;
      next = null;
    }
    ask(answered, System.nanoTime() + timeout.toNanos());
  }

  private void ask(CompletableFuture<Void> answered, long deadline) {
    var unused =
        request()
            .whenComplete(
                (reply, e) -> {
                  if (e == null && reply.isSuccess()) {
                    done();
                    answered.complete(null);
                    return;
                  }
                  Throwable cause = e == null ? reply.getException() : e;
                  if (System.nanoTime() - deadline >= 0
                      || node.failure() != null
                      || node.isClosing()) {
                    done();
                    answered.completeExceptionally(
                        cause == null ? new IOException("no answer") : cause);
                    return;
                  }
                  Executor later =
                      CompletableFuture.delayedExecutor(
                          node.retryPause().toMillis(), TimeUnit.MILLISECONDS);
                  later.execute(() -> ask(answered, deadline));
                });
  }

  /** The next question is asked by another thread: replies of one node come within the call. */
  private void done() {
    synchronized (lock) {
      asking = false;
      if (next == null) {
        return;
      }
    }
    var unused = CompletableFuture.runAsync(this::askNext);
  }

  private CompletableFuture<RaftClientReply> request() {
    try {
      return node.server()
          .submitClientRequestAsync(
              RaftClientRequest.newBuilder()
                  .setClientId(node.callers())
                  .setServerId(node.self())
                  .setGroupId(group)
                  .setCallId(node.nextCall())
                  .setMessage(Message.EMPTY)
                  .setType(RaftClientRequest.readRequestType())
                  .build());
    } catch (IOException | RuntimeException e) {
      return CompletableFuture.failedFuture(e);
    }
  }
}
