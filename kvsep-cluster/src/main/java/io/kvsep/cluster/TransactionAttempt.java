package io.kvsep.cluster;

import io.kvsep.Transaction;

/** A transaction that is repeated after a conflict. */
interface TransactionAttempt extends Transaction {
  /** Whether it was neither committed nor rolled back. */
  boolean isOpen();

  /** Whether its commit failed because of a conflict. */
  boolean hasConflict();
}
