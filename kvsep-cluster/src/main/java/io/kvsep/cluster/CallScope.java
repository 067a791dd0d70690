package io.kvsep.cluster;

import org.jspecify.annotations.Nullable;

/**
 * What calls of one thread have in common: how new their reads must be, and the index of their last
 * write. Only the first read waits for other nodes. A server begins one for each request, so that
 * its code calls the store as if it were a local one. For the thread that began it.
 */
final class CallScope implements AutoCloseable {
  private static final ThreadLocal<@Nullable CallScope> CURRENT = new ThreadLocal<>();

  private final ReplicatedStore replicated;
  private final long minIndex;
  private final @Nullable CallScope outer;
  private Consistency reads;
  private long written = -1;
  private boolean used;

  private CallScope(ReplicatedStore replicated, Consistency reads, long minIndex) {
    this.replicated = replicated;
    this.reads = reads;
    this.minIndex = minIndex;
    outer = CURRENT.get();
  }

  /**
   * Begins a scope of this thread.
   *
   * @param minIndex what all reads must see at least, 0 or less for nothing
   */
  static CallScope begin(ReplicatedStore replicated, Consistency reads, long minIndex) {
    CallScope scope = new CallScope(replicated, reads, minIndex);
    CURRENT.set(scope);
    return scope;
  }

  /** The local store, as new as the scope of this thread wants it; outside of one, as it is. */
  static GroupStore current(ReplicatedStore replicated) {
    CallScope scope = of(replicated);
    return scope == null ? replicated.current(Consistency.stale(0)) : scope.store();
  }

  /** Notes an entry with a request of this thread: reads that follow in its scope see it. */
  static void wrote(ReplicatedStore replicated, long index) {
    CallScope scope = of(replicated);
    if (scope != null) {
      scope.written = index;
      scope.reads = Consistency.stale(Math.max(index, scope.minIndex));
    }
  }

  /** The scope of this thread, if it is one of that store. */
  private static @Nullable CallScope of(ReplicatedStore replicated) {
    CallScope scope = CURRENT.get();
    return scope != null && scope.replicated == replicated ? scope : null;
  }

  private GroupStore store() {
    if (!reads.isStale()) {
      replicated.current(reads);
      reads = Consistency.stale(minIndex);
    }
    used = true;
    return replicated.current(reads);
  }

  /** Index of the last write, -1 if there was none. */
  long written() {
    return written;
  }

  /**
   * Index of the last write. Without a write, an index at or above that of every entry that was
   * read; -1 if the store was not used.
   */
  long index() {
    return written >= 0 || !used ? written : replicated.machine().live().visibleIndex();
  }

  @Override
  public void close() {
    if (outer == null) {
      CURRENT.remove();
    } else {
      CURRENT.set(outer);
    }
  }
}
