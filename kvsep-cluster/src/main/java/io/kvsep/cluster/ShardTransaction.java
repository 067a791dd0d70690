package io.kvsep.cluster;

import io.kvsep.Keyspace;
import io.kvsep.KvView;
import io.kvsep.error.StoreClosedException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A transaction of the shard of the first key that is read or written. */
final class ShardTransaction extends ShardWriter implements TransactionAttempt {
  private final OneShard<ReplicatedTransaction> transaction;

  /** Whether it ended before it began in a shard. */
  private boolean ended;

  ShardTransaction(ShardedStore sharded, Consistency consistency) {
    super(sharded);
    transaction =
        new OneShard<>(
            "a transaction",
            shard -> ReplicatedTransaction.begin(sharded.shard(shard), consistency));
  }

  @Override
  ReplicatedTransaction at(int shard) {
    if (ended) {
      throw new StoreClosedException("the transaction has ended");
    }
    return transaction.at(shard);
  }

  @Override
  List<KvView> all() {
    throw transaction.refusal();
  }

  @Override
  public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
    throw transaction.refusal();
  }

  @Override
  public KvView in(Keyspace keyspace) {
    return new ShardWriter(sharded) {
      @Override
      KvView at(int shard) {
        return ShardTransaction.this.at(shard).in(keyspace);
      }

      @Override
      List<KvView> all() {
        throw transaction.refusal();
      }

      @Override
      public void deleteRange(byte[] fromInclusive, byte[] toExclusive) {
        throw transaction.refusal();
      }
    };
  }

  @Override
  public boolean isOpen() {
    ReplicatedTransaction begun = transaction.begun();
    return begun == null ? !ended : begun.isOpen();
  }

  @Override
  public boolean hasConflict() {
    ReplicatedTransaction begun = transaction.begun();
    return begun != null && begun.hasConflict();
  }

  @Override
  public void commit() {
    ReplicatedTransaction begun = begun();
    if (begun != null) {
      begun.commit();
    }
  }

  @Override
  public long version() {
    ReplicatedTransaction begun = transaction.begun();
    return begun == null ? 0 : begun.version();
  }

  @Override
  public void rollback() {
    ReplicatedTransaction begun = begun();
    if (begun != null) {
      begun.rollback();
    }
  }

  /** Ends a transaction that has not begun in a shard, for which this is null. */
  private @Nullable ReplicatedTransaction begun() {
    ReplicatedTransaction begun = transaction.begun();
    if (begun == null) {
      if (ended) {
        throw new StoreClosedException("the transaction has ended");
      }
      ended = true;
    }
    return begun;
  }

  @Override
  public void close() {
    ReplicatedTransaction begun = transaction.begun();
    if (begun == null) {
      ended = true;
    } else {
      begun.close();
    }
  }
}
