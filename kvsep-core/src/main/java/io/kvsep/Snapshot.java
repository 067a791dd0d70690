package io.kvsep;

/**
 * A repeatable view of a store: everything committed when it was created, and nothing later. Expiry
 * continues: an entry that expires later becomes absent here too. Thread safe. Old versions visible
 * to an open snapshot are kept on disk.
 */
public interface Snapshot extends KvReader, AutoCloseable {
  /**
   * {@return the same view of {@code keyspace}, even if the keyspace was dropped since}
   *
   * @param keyspace the keyspace
   * @throws IllegalStateException if it was dropped before this snapshot was created
   */
  KvReader in(Keyspace keyspace);

  /** {@return sequence number of the last visible write; never lower in a later snapshot} */
  long sequence();

  /** Releases the snapshot; idempotent. Its cursors stay usable until they are closed. */
  @Override
  void close();
}
