package io.kvsep.internal.memory;

import java.util.concurrent.atomic.AtomicInteger;

/**
 * Tracks threads that may have read mapped pages without checking for page faults: through a view
 * of a value, or while walking a block of a table. The JVM reports the fault asynchronously, see
 * {@link Region#requirePagesRead}, so they must check before an operation that must not be
 * interrupted. Other threads skip the check and its array allocation.
 *
 * <p>A thread with an open cursor, or inside a callback with a view, checks every time: it may read
 * another store than it writes to. A cursor counts for the thread that used it last.
 *
 * <p>The state of a thread is one number: {@link #TO_ASK}, plus {@link #OPEN} per cursor and
 * callback. It is a JDK type: a thread may outlive kvsep's class loader, which a value of a kvsep
 * class in the {@link ThreadLocal} would keep reachable.
 */
public final class DeferredPageFaults {
  private static final int TO_ASK = 1;
  private static final int OPEN = 2;
  private static final ThreadLocal<AtomicInteger> USES =
      ThreadLocal.withInitial(AtomicInteger::new);

  private DeferredPageFaults() {}

  /** Marks the calling thread as reading mapped pages; {@link #end} takes the result. */
  public static AtomicInteger begin() {
    AtomicInteger use = USES.get();
    use.addAndGet(OPEN);
    return use;
  }

  /** From any thread; the thread that began must check once more. */
  public static void end(AtomicInteger use) {
    int seen = use.get();
    while (!use.compareAndSet(seen, (seen | TO_ASK) - OPEN)) {
      seen = use.get();
    }
  }

  /** The calling thread reads mapped pages without checking. */
  public static void mayFollow() {
    AtomicInteger use = USES.get();
    int seen = use.get();
    while ((seen & TO_ASK) == 0 && !use.compareAndSet(seen, seen | TO_ASK)) {
      seen = use.get();
    }
  }

  /** Whether the calling thread must check. */
  public static boolean areExpected() {
    return USES.get().get() != 0;
  }

  /** The calling thread has checked. While a cursor or callback is open it must check again. */
  public static void wereAsked() {
    USES.get().compareAndSet(TO_ASK, 0);
  }
}
