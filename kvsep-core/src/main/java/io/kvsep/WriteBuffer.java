package io.kvsep;

/**
 * Uncommitted writes that can be read back: reads see them over the newest state of the store.
 * Obtained from {@link KvStore#buffer}. For work that writes much, reads what it wrote, and commits
 * now and then, alone in its keys: there is no detection of conflicts. If others write the same
 * keys, use a {@link Transaction}.
 *
 * <pre>{@code
 * try (WriteBuffer buffer = store.buffer()) {
 *   for (Order order : orders) {
 *     buffer.compute(order.customer(), total -> add(total, order));
 *   }
 *   buffer.commit(new WriteBatch().put(position, offset)); // all of it or nothing
 * }
 * }</pre>
 *
 * <p><b>Reads</b> that no own write answers read the store as it is at that moment, in every
 * keyspace. A cursor shows the store and the own writes of the moment when it was created, and
 * stays usable after a commit. {@link #compute}, {@link #expire} and {@link #increment} read and
 * then write to the buffer; a write of another thread in between or later is overwritten by the
 * commit.
 *
 * <p><b>Writes</b> are kept on the Java heap, as many as fit into a {@link WriteBatch}; one that
 * does not fit throws {@link io.kvsep.error.LimitExceededException} and leaves the buffer
 * unchanged. {@link #putVersioned} returns 0. Times to live start at the commit. The buffer holds
 * nothing in the store while it is open, other than its cursors do.
 *
 * <p>For one thread at a time; a second thread gets {@link IllegalStateException} while a call is
 * running. After {@link #close} every call, by any thread, throws {@link
 * io.kvsep.error.StoreClosedException}. Calls that otherwise do not allocate may do so here.
 */
public interface WriteBuffer extends KvView, AutoCloseable {
  /**
   * {@return the same buffer in {@code keyspace}} Once the keyspace is dropped, every call throws
   * {@link IllegalStateException}, including the commit of writes to it.
   *
   * @param keyspace the keyspace
   */
  KvView in(Keyspace keyspace);

  /**
   * {@return bytes of the keys and values in the buffer} The last write of each key counts, and the
   * bounds of deleted ranges.
   */
  long bytes();

  /**
   * Writes everything in one atomic batch, as durably as the store's {@link Durability} says. The
   * buffer is empty and usable afterwards. If the call throws, nothing was written and the buffer
   * is unchanged.
   */
  void commit();

  /**
   * As {@link #commit()}, with the writes of {@code extra} after those of the buffer in the same
   * atomic batch. {@code extra} is not changed.
   *
   * @param extra further writes; where both write a key, these win
   * @throws io.kvsep.error.LimitExceededException also if both together are longer than a batch may
   *     be
   */
  void commit(WriteBatch extra);

  /** Forgets all uncommitted writes; the buffer is empty and usable afterwards. */
  void discard();

  /**
   * Forgets all uncommitted writes and closes the cursors; idempotent. Waits for a call in another
   * thread.
   */
  @Override
  void close();
}
