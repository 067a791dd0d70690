package io.kvsep.cluster;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * What calls of one thread have in common: how new their reads must be, and the indices of their
 * last writes, for each shard. Only the first read of a shard waits for other nodes. A server
 * begins one for each request, so that its code calls the store as if it were a local one. For the
 * thread that began it.
 */
final class CallScope implements AutoCloseable {
  private static final ThreadLocal<@Nullable CallScope> CURRENT = new ThreadLocal<>();

  private final List<ReplicatedStore> shards;
  private final @Nullable CallScope outer;

  // By shard.
  private final Consistency[] reads;
  private final long[] minIndices;
  private final long[] written;
  private final boolean[] used;

  private CallScope(List<ReplicatedStore> shards, Consistency[] reads, long[] minIndices) {
    this.shards = shards;
    this.reads = reads;
    this.minIndices = minIndices;
    written = new long[reads.length];
    Arrays.fill(written, -1);
    used = new boolean[reads.length];
    outer = CURRENT.get();
  }

  /**
   * Begins a scope of this thread.
   *
   * @param minIndex what all reads must see at least, 0 or less for nothing
   */
  static CallScope begin(ReplicatedStore replicated, Consistency reads, long minIndex) {
    return begin(List.of(replicated), new Consistency[] {reads}, new long[] {minIndex});
  }

  /**
   * Begins a scope of this thread.
   *
   * @param reads for each shard
   * @param minIndices what all reads of each must see at least, 0 or less for nothing
   */
  static CallScope begin(List<ReplicatedStore> shards, Consistency[] reads, long[] minIndices) {
    CallScope scope = new CallScope(shards, reads, minIndices);
    CURRENT.set(scope);
    return scope;
  }

  /** The local store, as new as the scope of this thread wants it; outside of one, as it is. */
  static GroupStore current(ReplicatedStore replicated) {
    CallScope scope = CURRENT.get();
    int shard = scope == null ? -1 : scope.shards.indexOf(replicated);
    return scope == null || shard < 0
        ? replicated.current(Consistency.stale(0))
        : scope.store(shard);
  }

  /** Lets all shards of the scope of this thread wait for other nodes at the same time. */
  static void awaitAll() {
    CallScope scope = CURRENT.get();
    if (scope != null) {
      scope.await();
    }
  }

  /** Notes an entry with a request of this thread: reads that follow in its scope see it. */
  static void wrote(ReplicatedStore replicated, long index) {
    CallScope scope = CURRENT.get();
    int shard = scope == null ? -1 : scope.shards.indexOf(replicated);
    if (scope != null && shard >= 0) {
      scope.written[shard] = index;
      scope.reads[shard] = Consistency.stale(Math.max(index, scope.minIndices[shard]));
    }
  }

  private GroupStore store(int shard) {
    ReplicatedStore replicated = shards.get(shard);
    if (!reads[shard].isStale()) {
      replicated.current(reads[shard]);
      reads[shard] = Consistency.stale(minIndices[shard]);
    }
    used[shard] = true;
    return replicated.current(reads[shard]);
  }

  private void await() {
    List<@Nullable CompletableFuture<Long>> asked = new ArrayList<>();
    for (int i = 0; i < reads.length; i++) {
      asked.add(shards.get(i).waits(reads[i]) ? shards.get(i).barrier().ask() : null);
    }
    for (int i = 0; i < reads.length; i++) {
      CompletableFuture<Long> index = asked.get(i);
      if (index != null) {
        shards.get(i).barrier().await(index);
      }
      reads[i] = reads[i].isStale() ? reads[i] : Consistency.stale(minIndices[i]);
    }
  }

  /** Index of the last write to a shard, -1 if there was none. */
  long written(int shard) {
    return written[shard];
  }

  /**
   * Index of the last write to a shard. Without a write, an index at or above that of every entry
   * that was read; -1 if the shard was not used.
   */
  long index(int shard) {
    return written[shard] >= 0 || !used[shard]
        ? written[shard]
        : shards.get(shard).machine().live().visibleIndex();
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
