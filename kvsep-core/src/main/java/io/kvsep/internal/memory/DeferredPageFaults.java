package io.kvsep.internal.memory;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Which threads may have read mapped pages without asking afterwards whether these could be read:
 * through a view of a value, or as they went over a block of a table. Java tells such a thread
 * late, see {@link Region#requirePagesRead}, and so it has to ask before it begins what must not be
 * interrupted. Others need not, which saves them an array.
 *
 * <p>Whose cursor is open, or whose callback with a view is under way, asks each time: what is read
 * may be another store's than the one that is written to. A cursor counts for the thread that used
 * it last.
 *
 * <p>What a thread reads by is one number: {@link #TO_ASK}, and {@link #OPEN} for each cursor and
 * callback. A plain number of the JDK, since a thread may outlive the class loader of kvsep: an
 * object of a class of ours in its {@link ThreadLocal} would keep that loader.
 */
public final class DeferredPageFaults {
  private static final int TO_ASK = 1;
  private static final int OPEN = 2;
  private static final ThreadLocal<AtomicInteger> USES =
      ThreadLocal.withInitial(AtomicInteger::new);

  private DeferredPageFaults() {}

  /**
   * The calling thread may read mapped pages at any time until the end of it.
   *
   * @return for {@link #end}
   */
  public static AtomicInteger begin() {
    AtomicInteger use = USES.get();
    use.addAndGet(OPEN);
    return use;
  }

  /**
   * Ends what {@link #begin} began, in whatever thread; the one that began it has to ask once more.
   */
  public static void end(AtomicInteger use) {
    int seen = use.get();
    while (!use.compareAndSet(seen, (seen | TO_ASK) - OPEN)) {
      seen = use.get();
    }
  }

  /** The calling thread reads mapped pages and does not ask. */
  public static void mayFollow() {
    AtomicInteger use = USES.get();
    int seen = use.get();
    while ((seen & TO_ASK) == 0 && !use.compareAndSet(seen, seen | TO_ASK)) {
      seen = use.get();
    }
  }

  /** Whether the calling thread has to ask. */
  public static boolean areExpected() {
    return USES.get().get() != 0;
  }

  /** The calling thread has asked. Where something is open it has to ask again. */
  public static void wereAsked() {
    USES.get().compareAndSet(TO_ASK, 0);
  }
}
