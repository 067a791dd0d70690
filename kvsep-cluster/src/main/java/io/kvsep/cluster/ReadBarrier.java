package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Waits until the store of this node has everything that was acknowledged before the call: puts an
 * empty request into the log and waits until it is applied here. One is under way at a time; calls
 * that begin meanwhile share the next. Thread safe.
 *
 * <p>The reads of Ratis 3.3.0 do not serve: its leader asks its followers once for each commit
 * index, and later answers reads at that index without asking. A leader that was cut off or stopped
 * thus answers from before its successor's writes until it steps down.
 */
final class ReadBarrier {
  /** How long a follower waits for the next entry before it asks for one. */
  private static final Duration NOTICE = Duration.ofMillis(2);

  private final WriteGatherer writes;
  private final GroupStateMachine machine;
  private final byte[] nothing;
  private final Duration timeout;

  /** Describes the group for messages. */
  private final Supplier<String> group;

  private final Object lock = new Object();

  @GuardedBy("lock")
  private boolean asking;

  /** For calls that began after the request under way was sent. */
  @GuardedBy("lock")
  private @Nullable CompletableFuture<Long> next;

  ReadBarrier(
      WriteGatherer writes,
      GroupStateMachine machine,
      RequestWriter nothing,
      Duration timeout,
      Supplier<String> group) {
    this.writes = writes;
    this.machine = machine;
    this.nothing = nothing.toBytes();
    this.timeout = timeout;
    this.group = group;
  }

  /**
   * @throws ClusterException if the group did not answer in time
   */
  void await() {
    await(ask());
  }

  /** Begins to wait, for {@link #await(CompletableFuture)}. */
  CompletableFuture<Long> ask() {
    CompletableFuture<Long> mine;
    synchronized (lock) {
      if (next == null) {
        next = new CompletableFuture<>();
      }
      mine = next;
    }
    askNext();
    return mine;
  }

  /**
   * As {@link #await()}, without a thread that waits. Completes with an index that this node has
   * applied, or most likely applies at once.
   */
  CompletableFuture<Long> seen() {
    return ask()
        // A follower hears with the next entry that this one is committed.
        .thenCompose(index -> hasApplied(index) ? completed(index) : ask().thenApply(next -> index))
        .exceptionally(
            e -> {
              throw silent(e);
            });
  }

  private static CompletableFuture<Long> completed(long index) {
    return CompletableFuture.completedFuture(index);
  }

  private boolean hasApplied(long index) {
    return machine.getLastAppliedTermIndex().getIndex() >= index;
  }

  private ClusterException silent(Throwable e) {
    return new ClusterException(
        "the group did not say within " + timeout + " what is committed; " + group.get(),
        e instanceof CompletionException ? e.getCause() : e,
        false);
  }

  /** As {@link #await()}, since {@link #ask}. */
  void await(CompletableFuture<Long> asked) {
    long index;
    try {
      index = asked.join();
    } catch (CompletionException e) {
      throw silent(e);
    }
    if (!awaitApplied(index, timeout)) {
      throw new ClusterException("index " + index + " is not applied", null, false);
    }
  }

  /**
   * Waits until the store of this node has an entry; false after the time. A follower hears that an
   * entry is committed with the next one or with a heartbeat, which comes half of the shortest
   * election timeout later. So if there is no next one, an empty one is put into the log.
   */
  boolean awaitApplied(long index, Duration most) {
    if (machine.awaitApplied(index, NOTICE.compareTo(most) < 0 ? NOTICE : most)) {
      return true;
    }
    if (most.compareTo(NOTICE) <= 0) {
      return false;
    }
    try {
      var unused = writes.submit(nothing, /* alone= */ false);
    } catch (ClusterException e) {
      // The store is closed, which the wait says.
    }
    return machine.awaitApplied(index, most);
  }

  private void askNext() {
    CompletableFuture<Long> answered;
    synchronized (lock) {
      if (asking || next == null) {
        return;
      }
      asking = true;
      answered = next;
      next = null;
    }
    CompletableFuture<WriteGatherer.Outcome> submitted;
    try {
      submitted = writes.submit(nothing, /* alone= */ false);
    } catch (RuntimeException | Error e) {
      // Else all later reads would wait for this one.
      submitted = CompletableFuture.failedFuture(e);
    }
    var unused =
        submitted.whenComplete(
            (outcome, e) -> {
              synchronized (lock) {
                asking = false;
              }
              if (e == null) {
                answered.complete(outcome.index());
              } else {
                answered.completeExceptionally(e);
              }
              askNext();
            });
  }
}
