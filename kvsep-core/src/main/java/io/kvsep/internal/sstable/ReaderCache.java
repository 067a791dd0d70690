package io.kvsep.internal.sstable;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.jspecify.annotations.Nullable;

/**
 * Limits the total weight of open readers: tables or unpacked blocks, which cost something to keep
 * and to recreate. A reader is found through its {@link Holder}, at the cost of a field read. The
 * holder reports what it opens, and this cache unlinks readers above the limit.
 *
 * <p>Life of a reader:
 *
 * <ol>
 *   <li>Its holder opens it, with one pin for being linked, and links it.
 *   <li>A thread that uses it is inside the epochs or has its own pin.
 *   <li>Eviction unlinks it, and drops the first pin once all threads that may have found it have
 *       left the epochs. The last unpin frees it.
 * </ol>
 *
 * <p>So no thread can reach a freed reader. The limit does not count readers evicted since the
 * oldest thread inside the epochs entered, whatever that thread uses.
 *
 * <p>Thread safe, without own threads: Caffeine works on the threads that open readers. Only
 * unlinking runs under its lock. A limit that is never reached costs only the cache entries.
 */
public final class ReaderCache<R extends ReaderCache.Reader> {
  public interface Reader {
    /** Cost of keeping it open; constant. */
    int weightBytes();

    /**
     * Called once when it is evicted, on any thread and without a lock: must drop the first pin
     * when all threads that may have found the reader have left the epochs.
     */
    void evicted();

    /** Drops a pin; the last one closes the reader. */
    void unpin();
  }

  /** Links to an open reader. */
  public interface Holder<R> {
    /** Removes the link to {@code reader}; false if there is none. */
    boolean unlink(R reader);

    boolean isLinked(R reader);
  }

  private final Cache<Holder<R>, R> open;

  /** Unlinked but not yet told so. */
  private final Queue<R> evicted = new ConcurrentLinkedQueue<>();

  /** Whether anything was ever evicted. Until then, recency is not tracked. */
  private volatile boolean crowded;

  public ReaderCache(long weightBytesMax) {
    this.open =
        Caffeine.newBuilder()
            .executor(Runnable::run)
            .maximumWeight(weightBytesMax)
            .weigher((Holder<R> holder, R reader) -> reader.weightBytes())
            .removalListener(this::removed)
            .build();
  }

  /** May evict others, or this one. */
  public void opened(Holder<R> holder, R reader) {
    open.put(holder, reader);
    if (!holder.isLinked(reader)) {
      // Closed before it was added: no later call would remove it.
      open.asMap().remove(holder, reader);
    }
    tellEvicted();
  }

  /** Called after the holder has unlinked its reader. */
  public void closed(Holder<R> holder) {
    open.invalidate(holder);
    tellEvicted();
  }

  /** Records a use; a sample of all uses suffices. */
  public void used(Holder<R> holder) {
    if (crowded && open.getIfPresent(holder) != null) {
      tellEvicted();
    }
  }

  /** Total weight of linked readers. */
  public long weightBytes() {
    open.cleanUp();
    tellEvicted();
    return open.policy().eviction().orElseThrow().weightedSize().orElse(0);
  }

  private void removed(@Nullable Holder<R> holder, @Nullable R reader, RemovalCause cause) {
    // On other removals, the holder has unlinked the reader already.
    if (holder != null && reader != null && holder.unlink(reader)) {
      crowded = true;
      evicted.add(reader);
    }
  }

  private void tellEvicted() {
    for (R reader = evicted.poll(); reader != null; reader = evicted.poll()) {
      reader.evicted();
    }
  }
}
