package io.kvsep;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * The changes of a store, in the order in which they were committed, each once: for replicas,
 * caches and indexes that follow it.
 *
 * <pre>{@code
 * try (Snapshot now = store.snapshot();
 *     ChangeFeed feed = store.changes(now.sequence())) {
 *   copyAll(now);
 *   while (running) {
 *     Change change = feed.poll(Duration.ofSeconds(1));
 *     if (change != null) {
 *       apply(change);
 *     }
 *   }
 * }
 * }</pre>
 *
 * <p>A change is given once it is on stable storage, so that no crash takes back what was given:
 * with {@link Durability#sync} that is when the write returns, with {@link Durability#async} up to
 * an interval later, with {@link Durability#none} at the next {@link KvStore#sync}. What was
 * committed together comes together, the last one of it with {@link Change#endsCommit}.
 *
 * <p>Changes are read from the log. Nobody waits for a feed, and nothing is kept for one that is
 * open, but as {@link KvOptions.Builder#changeRetentionBytes} says: one that falls behind that may
 * find what it needs gone. It learns that as a {@link io.kvsep.error.ChangesLostException}, on this
 * and every later call, and never by missing something. {@link KvStore#bulkLoad} goes past the log,
 * so that each one ends all feeds that have not been opened after it in the same way.
 *
 * <p>Holds no memory of the store, and at most some hundred kilobytes of changes, or one that is
 * longer, on the heap. Thread safe, though each change is given to one caller only.
 */
public interface ChangeFeed extends AutoCloseable {
  /**
   * The next change; null when there is none as yet. Reads some hundred kilobytes of the log at
   * once, and checks them.
   *
   * @throws io.kvsep.error.ChangesLostException when some of the next changes are lost
   * @throws io.kvsep.error.CorruptionException when the log is damaged there; it cannot go on
   * @throws io.kvsep.error.StorageException when the device refused; it may be called again
   * @throws io.kvsep.error.StoreClosedException when this or the store is closed
   */
  @Nullable Change poll();

  /**
   * As {@link #poll()}, but waits for a change. It looks every few milliseconds; nobody has to wake
   * it. An interrupt ends the wait, with the flag set.
   *
   * @param atMost for how long, from 0
   */
  @Nullable Change poll(Duration atMost);

  /** Ends the feed; idempotent. */
  @Override
  void close();
}
