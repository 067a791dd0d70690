package io.kvsep.internal.memory;

/**
 * Which threads have read mapped pages without asking afterwards whether these could be read:
 * through a view of a value, or as they went over a block of a table. Java tells such a thread
 * late, see {@link Region#requirePagesRead}, and so it has to ask before it begins what must not be
 * interrupted. Others need not, which saves them an array.
 */
public final class LateFaults {
  private static final ThreadLocal<boolean[]> MAY_FOLLOW =
      ThreadLocal.withInitial(() -> new boolean[1]);

  private LateFaults() {}

  /** The calling thread reads mapped pages and does not ask. */
  public static void mayFollow() {
    MAY_FOLLOW.get()[0] = true;
  }

  /** Whether the calling thread has to ask. */
  public static boolean areExpected() {
    return MAY_FOLLOW.get()[0];
  }

  /** The calling thread has asked, and reads nothing of that kind until it says so. */
  public static void areOver() {
    MAY_FOLLOW.get()[0] = false;
  }
}
