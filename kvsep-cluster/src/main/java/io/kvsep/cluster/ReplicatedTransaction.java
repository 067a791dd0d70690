package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvView;
import io.kvsep.error.ConflictException;
import io.kvsep.error.LimitExceededException;
import io.kvsep.error.StoreClosedException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A transaction that runs on the store of this node and is committed by the group: as a request
 * that says what every key and range that it read held, and what it writes. Every node compares
 * that when it applies the request, so no node needs to know of open transactions.
 */
final class ReplicatedTransaction extends RecordingView implements TransactionAttempt {
  private static final int TRIES_MAX = 64;

  private static final long PAUSE_NANOS_MIN = 100_000;
  private static final long PAUSE_NANOS_MAX = 50_000_000;

  private enum State {
    OPEN,
    COMMITTED,
    FAILED,
    ROLLED_BACK
  }

  private final ReplicatedStore replicated;
  private final GroupStore.Views views;

  private volatile State state = State.OPEN;
  private boolean conflicted;

  private ReplicatedTransaction(ReplicatedStore replicated, GroupStore.Views views) {
    // All reads are of one time: an entry that expires between two of them would be compared as
    // it was for the first alone.
    super(
        new Recorder(replicated, /* tracksReads= */ true, views.timeMillis()),
        null,
        views.transaction());
    this.replicated = replicated;
    this.views = views;
  }

  static ReplicatedTransaction begin(ReplicatedStore replicated, Consistency consistency) {
    return replicated.<ReplicatedTransaction>read(
        consistency, store -> new ReplicatedTransaction(replicated, store.begin()));
  }

  /** Repeats {@code work} after conflicts. */
  static <R extends @Nullable Object> R transact(
      ReplicatedStore replicated,
      Consistency consistency,
      Function<ReplicatedTransaction, R> work) {
    return ReplicatedTransaction.<ReplicatedTransaction, R>transact(
        () -> begin(replicated, consistency), work);
  }

  /** Repeats {@code work} after conflicts. */
  static <T extends TransactionAttempt, R extends @Nullable Object> R transact(
      Supplier<T> begin, Function<T, R> work) {
    long bound = PAUSE_NANOS_MIN;
    for (int left = TRIES_MAX; ; left--) {
      try (T transaction = begin.get()) {
        try {
          R result = work.apply(transaction);
          if (transaction.isOpen()) {
            transaction.commit();
          }
          return result;
        } catch (ConflictException e) {
          if (left == 1 || !transaction.hasConflict()) {
            throw e;
          }
        }
      }
      LockSupport.parkNanos(ThreadLocalRandom.current().nextLong(bound));
      bound = Math.min(PAUSE_NANOS_MAX, 2 * bound);
    }
  }

  @Override
  public boolean isOpen() {
    return state == State.OPEN;
  }

  @Override
  public boolean hasConflict() {
    return conflicted;
  }

  @Override
  public KvView in(Keyspace keyspace) {
    return view(keyspace.name());
  }

  /** The transaction in a keyspace, null for the store's own. */
  KvView view(@Nullable String keyspace) {
    return keyspace == null
        ? this
        : new RecordingView(
            recorder, keyspace, views.transaction().in(views.state().required(keyspace)));
  }

  @Override
  public void commit() {
    requireOpen();
    try {
      if (recorder.request().writeCount() > 0) {
        addConditions();
        WriteGatherer.Outcome outcome = replicated.submit(recorder.request());
        if (outcome.answer().status() == Answer.Status.CONFLICT) {
          conflicted = true;
          // The next attempt must not see the same state again.
          replicated.await(outcome.index(), replicated.options().requestTimeout());
          throw new ConflictException(
              "what the transaction read was changed before it was committed");
        }
      }
      state = State.COMMITTED;
    } finally {
      end(State.FAILED);
    }
  }

  @Override
  public long version() {
    if (state != State.COMMITTED) {
      throw new IllegalStateException("the transaction was not committed");
    }
    return recorder.version();
  }

  @Override
  public void rollback() {
    if (state != State.FAILED) {
      requireOpen();
      end(State.ROLLED_BACK);
    }
  }

  @Override
  public void close() {
    end(State.ROLLED_BACK);
  }

  private void end(State otherwise) {
    if (state == State.OPEN) {
      state = otherwise;
    }
    try {
      views.transaction().close();
    } finally {
      views.state().snapshot().close();
    }
  }

  private void requireOpen() {
    if (state != State.OPEN) {
      throw new StoreClosedException("the transaction has ended");
    }
  }

  /** As of the time when it began: what has expired since counts as changed. */
  private void addConditions() {
    GroupClock.at(
        views.timeMillis(),
        () -> {
          for (Recorder.Key key : recorder.keysRead()) {
            byte[] hash = Conditions.entry(views.state().reader(key.keyspace()), key.bytes());
            if (hash == null) {
              recorder.request().absent(key.keyspace(), key.bytes());
            } else {
              recorder.request().entryIs(key.keyspace(), key.bytes(), hash);
            }
          }
          for (Recorder.Range range : recorder.rangesRead()) {
            ContentHash.Range content =
                Conditions.range(
                    views.state().reader(range.keyspace()),
                    range.from(),
                    range.to(),
                    Conditions.RANGE_ENTRIES_MAX);
            if (content.count() > Conditions.RANGE_ENTRIES_MAX) {
              throw new LimitExceededException(
                  "the transaction scanned more than "
                      + Conditions.RANGE_ENTRIES_MAX
                      + " entries or "
                      + (Conditions.RANGE_BYTES_MAX >> 20)
                      + " MiB in a row");
            }
            recorder.request().rangeIs(range.keyspace(), range.from(), range.to(), content);
          }
          return null;
        });
  }
}
