package io.kvsep.internal.sstable;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import com.github.benmanes.caffeine.cache.RemovalCause;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Decides which open readers stay open, where a reader is whatever costs something to keep and
 * something to get again: a table's, or the bytes of a block that had to be unpacked. A reader is
 * found through its {@link Holder}, not here, so that finding one costs a read of a field; the
 * holder reports here what it opened, and loses it again when the sum of all weights is above the
 * limit.
 *
 * <p>The life of a reader:
 *
 * <ol>
 *   <li>Its holder opens it, with one pin that stands for being found there, and links it.
 *   <li>Whoever works with it is inside the epochs, or has a pin of his own.
 *   <li>Eviction first unlinks it, and then, once everybody has left the epochs who may have found
 *       it before, drops the first pin. The last pin to go frees it.
 * </ol>
 *
 * So nobody can reach what is freed, and the limit holds but for readers that were evicted since
 * somebody entered the epochs who is still inside, whatever he works with.
 *
 * <p>Thread safe, without threads of its own: Caffeine does its work on the threads that open
 * readers. Nothing but unlinking happens under its lock. A limit that is never reached costs
 * nothing but the entry, recency included.
 */
public final class ReaderCache<R extends ReaderCache.Reader> {
  /** Something that is open. */
  public interface Reader {
    /** What it costs to keep it open; always the same. */
    int weightBytes();

    /** Drops a pin; without any left it is closed. */
    void unpin();
  }

  /** Where an open reader is found. */
  public interface Holder<R> {
    /** Makes that nobody finds {@code reader} here any more; false when it is not found anyway. */
    boolean unlink(R reader);

    boolean isLinked(R reader);
  }

  private final Cache<Holder<R>, R> open;
  private final Consumer<Runnable> retire;

  /** Unlinked, and not yet retired. */
  private final Queue<R> evicted = new ConcurrentLinkedQueue<>();

  private final LongAdder lookups = new LongAdder();
  private final LongAdder misses = new LongAdder();

  /** Whether anything ever had to go; until then nobody has to know what is in use. */
  private volatile boolean crowded;

  /**
   * @param weightBytesMax limit for the sum of all weights
   * @param retire runs its argument once nobody is inside the epochs who is inside them now
   */
  public ReaderCache(long weightBytesMax, Consumer<Runnable> retire) {
    this.retire = retire;
    this.open =
        Caffeine.newBuilder()
            .executor(Runnable::run)
            .maximumWeight(weightBytesMax)
            .weigher((Holder<R> holder, R reader) -> reader.weightBytes())
            .removalListener(this::removed)
            .build();
  }

  /**
   * Takes note of a reader that was opened and linked, and evicts others when it is one too many,
   * or this one.
   */
  public void opened(Holder<R> holder, R reader) {
    misses.increment();
    open.put(holder, reader);
    if (!holder.isLinked(reader)) {
      // Closed before it was in here: nobody would take it out again.
      open.asMap().remove(holder, reader);
    }
    retireEvicted();
  }

  /** The holder has unlinked its reader itself. */
  public void closed(Holder<R> holder) {
    open.invalidate(holder);
    retireEvicted();
  }

  /** The holder's reader is in use; a sample of all uses is enough. */
  public void used(Holder<R> holder) {
    if (crowded && open.getIfPresent(holder) != null) {
      retireEvicted();
    }
  }

  /** A reader was asked for; for whoever does not count that himself. */
  public void countLookup() {
    lookups.increment();
  }

  /** Calls of {@link #countLookup}. */
  public long lookups() {
    return lookups.sum();
  }

  /** Readers that had to be opened. */
  public long misses() {
    return misses.sum();
  }

  /** Sum of the weights of all readers that are open and linked. */
  public long weightBytes() {
    open.cleanUp();
    retireEvicted();
    return open.policy().eviction().orElseThrow().weightedSize().orElse(0);
  }

  private void removed(@Nullable Holder<R> holder, @Nullable R reader, RemovalCause cause) {
    // Whoever takes a reader out without an eviction has unlinked it himself.
    if (holder != null && reader != null && holder.unlink(reader)) {
      crowded = true;
      evicted.add(reader);
    }
  }

  private void retireEvicted() {
    for (R reader = evicted.poll(); reader != null; reader = evicted.poll()) {
      retire.accept(reader::unpin);
    }
  }
}
