package io.kvsep;

/**
 * Reads and writes that take effect together or not at all, as if nobody else had been there in
 * between: serializable. From {@link KvStore#begin} or {@link KvStore#transact}.
 *
 * <p><b>Reads</b> see what was committed when the transaction began, with its own writes on top, in
 * every keyspace, also through cursors; a cursor sees those made before it. Like in a {@link
 * Snapshot}, what expires meanwhile is absent. <b>Writes</b> are kept on the Java heap until the
 * commit, as many as fit into a {@link WriteBatch}; one that does not is refused with {@link
 * io.kvsep.error.LimitExceededException} and leaves the transaction as it was. Times to live count
 * from the commit. Nobody is ever waited for or kept waiting.
 *
 * <p><b>The commit</b> throws {@link io.kvsep.error.ConflictException}, and has written nothing,
 * when a key that was read was written or deleted since the transaction began, whether it was there
 * or not, or any key in a range over which a cursor went. What the transaction wrote itself and
 * then read does not count, nor does what it wrote without reading it. A transaction without writes
 * never conflicts, and its commit costs nothing. What is remembered of reads takes at most some
 * megabytes; of very many keys only the ranges between neighbours are known in the end, which may
 * find a conflict where there is none.
 *
 * <p>Used by one thread at a time; a second one gets an {@link IllegalStateException} while a call
 * is under way. {@link #commit}, {@link #rollback} and {@link #close} end it, with or without
 * success, and close its cursors; every other use from then on but {@link #version}, by any thread,
 * is a {@link io.kvsep.error.StoreClosedException}. Until then old versions are kept on disk as for
 * a snapshot. The calls that otherwise allocate nothing do so in here.
 */
public interface Transaction extends KvReader, KvWriter, AutoCloseable {
  /**
   * The same transaction in {@code keyspace}. When that is dropped, every call throws {@link
   * IllegalStateException} from then on, the commit of what was written to it included.
   */
  KvView in(Keyspace keyspace);

  /**
   * Writes everything, as durable as the store's {@link Durability} says, or nothing.
   *
   * @throws io.kvsep.error.ConflictException when something it read was changed since it began
   */
  void commit();

  /**
   * The version ({@link EntryInfo#version}) that its last write got, 0 when it wrote nothing. To be
   * asked after the commit, also of a transaction that is closed, such as that of {@link
   * KvStore#transact}.
   *
   * <p>All of its writes have consecutive versions, in the order in which the commit writes them:
   * first the ranges that it deleted, those that meet as one; then of each key the last write, if
   * no range that it deleted later covers it. Ranges and keys go by {@link Keyspace#id}, the
   * store's own keyspace first, and then by key. So where it wrote one key, this is that entry's.
   *
   * @throws IllegalStateException when it was not committed
   */
  long version();

  /** Gives everything up. */
  void rollback();

  /** Rolls back unless it is over already; idempotent. Waits for a call in another thread. */
  @Override
  void close();
}
