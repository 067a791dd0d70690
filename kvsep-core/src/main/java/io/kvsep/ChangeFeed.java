package io.kvsep;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The changes of a store in commit order, each exactly once. For replicas, caches and indexes that
 * follow a store.
 *
 * <pre>{@code
 * ChangeFeed feed;
 * try (Snapshot now = store.snapshot()) { // keeps old versions, so it is closed after the copy
 *   feed = store.changes(now.sequence());
 *   copyAll(now);
 * }
 * try (feed) {
 *   while (running) {
 *     Change change = feed.poll(Duration.ofSeconds(1));
 *     if (change != null) {
 *       apply(change);
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>A change is returned only after it is on stable storage, so no crash revokes it. With {@link
 * Durability#sync} that is when the write returns, with {@link Durability#async} up to one interval
 * later, with {@link Durability#none} at the next {@link KvStore#sync}. The changes of one commit
 * are consecutive; {@link Change#endsCommit} marks the last one.
 *
 * <p>Changes are read from the log. A feed neither blocks writers nor keeps files: the log is
 * retained as {@link KvOptions.Builder#changeRetentionBytes} says. A feed that falls behind by more
 * may need changes that are gone. The poll that finds this and every later one throw {@link
 * io.kvsep.error.ChangesLostException}; a change is never skipped silently. {@link
 * KvStore#bulkLoad} bypasses the log, so every load ends all feeds opened before it in the same
 * way.
 *
 * <p>Holds no memory of the store. Uses at most a few hundred kilobytes of heap, or the size of one
 * larger change. Thread safe; each change is returned to one caller only.
 */
public interface ChangeFeed extends AutoCloseable {
  /**
   * {@return the next change, or null if there is none yet} Reads and checks a few hundred
   * kilobytes of the log at a time.
   *
   * @throws io.kvsep.error.ChangesLostException if some of the next changes are lost
   * @throws io.kvsep.error.CorruptionException if the log is damaged there; the feed cannot
   *     continue
   * @throws io.kvsep.error.StorageException if a device operation failed; the call may be repeated
   * @throws io.kvsep.error.StoreClosedException if this feed or the store is closed
   */
  @Nullable Change poll();

  /**
   * As {@link #poll()}, but waits for a change, polling every few milliseconds. An interrupt ends
   * the wait and keeps the interrupt status set.
   *
   * @param atMost how long to wait, zero or more
   * @return the next change, or null if the time has passed
   */
  @Nullable Change poll(Duration atMost);

  /** Ends the feed; idempotent. */
  @Override
  void close();
}
