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
 */
public final class LateFaults {
  private static final ThreadLocal<Use> USES = ThreadLocal.withInitial(Use::new);

  private LateFaults() {}

  /** What one thread reads by. Counts may be taken back by another thread. */
  public static final class Use {
    private final AtomicInteger open = new AtomicInteger();
    private volatile boolean isToAsk;

    private Use() {}

    /** Ends what {@link #begin} began; the thread has to ask once more. */
    public void end() {
      isToAsk = true;
      open.decrementAndGet();
    }
  }

  /** The calling thread may read mapped pages at any time until the end of it. */
  public static Use begin() {
    Use use = USES.get();
    use.open.incrementAndGet();
    return use;
  }

  /** The calling thread reads mapped pages and does not ask. */
  public static void mayFollow() {
    Use use = USES.get();
    if (!use.isToAsk) {
      use.isToAsk = true;
    }
  }

  /** Whether the calling thread has to ask. */
  public static boolean areExpected() {
    Use use = USES.get();
    return use.isToAsk || use.open.get() > 0;
  }

  /** The calling thread has asked. */
  public static void wereAsked() {
    Use use = USES.get();
    if (use.open.get() == 0) {
      use.isToAsk = false;
    }
  }
}
