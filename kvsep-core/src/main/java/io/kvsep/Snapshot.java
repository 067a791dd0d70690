package io.kvsep;

/**
 * A fixed, repeatable view of a store: what was committed when it was made, and nothing later.
 * Expiry goes on: an entry whose time comes is absent here too. Thread safe. Old versions this
 * snapshot can see are kept on disk as long as it is open.
 */
public interface Snapshot extends KvReader, AutoCloseable {
  /**
   * The same moment in {@code keyspace}, even if that was dropped meanwhile.
   *
   * @throws IllegalStateException when it was dropped before this snapshot was made
   */
  KvReader in(Keyspace keyspace);

  /**
   * Sequence number of the last write this snapshot sees; later snapshots never have a lower one.
   */
  long sequence();

  /** Releases the view; idempotent. Its cursors stay usable until they are closed. */
  @Override
  void close();
}
