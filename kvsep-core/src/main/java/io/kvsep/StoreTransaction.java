package io.kvsep;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.txn.EngineTransaction;
import java.util.Objects;

/** Implements the transaction API on an engine transaction. */
final class StoreTransaction extends TransactionView implements Transaction {
  private final StorageEngine engine;
  private final EngineTransaction transaction;

  StoreTransaction(StorageEngine engine) {
    this(engine, engine.begin());
  }

  private StoreTransaction(StorageEngine engine, EngineTransaction transaction) {
    super(transaction, Keyspaces.DEFAULT);
    this.engine = engine;
    this.transaction = transaction;
  }

  @Override
  public KvView in(Keyspace keyspace) {
    int id = Objects.requireNonNull(keyspace, "keyspace").idIn(engine);
    transaction.check(id);
    return new TransactionView(transaction, id);
  }

  @Override
  public void commit() {
    PageFaults.guard(transaction::commit);
  }

  @Override
  public long version() {
    return transaction.version();
  }

  @Override
  public void rollback() {
    transaction.rollback();
  }

  @Override
  public void close() {
    transaction.close();
  }

  boolean isOver() {
    return transaction.isOver();
  }

  boolean isConflicted() {
    return transaction.isConflicted();
  }
}
