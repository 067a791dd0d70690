package io.kvsep;

/**
 * A serializable transaction: its reads and writes take effect atomically, as if no other write
 * happened in between. Obtained from {@link KvStore#begin} or {@link KvStore#transact}.
 *
 * <p><b>Reads</b>, including cursors, see what was committed when the transaction began plus its
 * own writes, in every keyspace; a cursor sees own writes made before it was created. As in a
 * {@link Snapshot}, entries that expire meanwhile are absent. <b>Writes</b> are kept on the Java
 * heap until the commit, as many as fit into a {@link WriteBatch}; one that does not fit throws
 * {@link io.kvsep.error.LimitExceededException} and leaves the transaction unchanged. Times to live
 * start at the commit. A transaction never blocks another thread or waits for one.
 *
 * <p><b>The commit</b> throws {@link io.kvsep.error.ConflictException}, with nothing written, if
 * since the transaction began a key it read, present or absent, or any key in a range covered by
 * one of its cursors, was written or deleted. Own writes that were read, and keys written without
 * being read, do not count. A transaction that wrote nothing is serializable at its snapshot: it
 * never conflicts, and its commit costs nothing. The record of reads takes at most some megabytes;
 * for very many keys it is reduced to ranges between neighbouring keys, which can cause false
 * conflicts.
 *
 * <p>For one thread at a time; a second thread gets {@link IllegalStateException} while a call is
 * running. {@link #commit}, {@link #rollback} and {@link #close} end the transaction, whether they
 * succeed or not, and close its cursors. After that every call except {@link #version} and a {@link
 * #rollback} after a failed commit, by any thread, throws {@link
 * io.kvsep.error.StoreClosedException}. Until then old versions are kept on disk as for a snapshot.
 * Calls that otherwise do not allocate do so in a transaction.
 */
public interface Transaction extends KvView, AutoCloseable {
  /**
   * {@return the same transaction in {@code keyspace}} Once the keyspace is dropped, every call
   * throws {@link IllegalStateException}, including the commit of writes to it.
   *
   * @param keyspace the keyspace
   */
  KvView in(Keyspace keyspace);

  /**
   * Writes everything, as durably as the store's {@link Durability} says, or nothing.
   *
   * @throws io.kvsep.error.ConflictException if something it read has changed since it began
   */
  void commit();

  /**
   * {@return the version ({@link EntryInfo#version}) of its last write; 0 if it wrote nothing}
   * Available after the commit, also when closed, such as after {@link KvStore#transact}.
   *
   * <p>The writes have consecutive versions in commit order: first the deleted ranges, with
   * adjacent ones merged; then the last write of each key, unless a range deleted later covers it.
   * Ranges and keys are ordered by {@link Keyspace#id}, the store's own keyspace first, then by
   * key. If the transaction wrote one key, this is the version of its entry.
   *
   * @throws IllegalStateException if it was not committed
   */
  long version();

  /** Discards all writes. After a commit that failed this does nothing: it has discarded them. */
  void rollback();

  /**
   * Rolls back unless the transaction has ended; idempotent. Waits for a call in another thread.
   */
  @Override
  void close();
}
