package io.kvsep.internal.memory;

/**
 * Which threads may have read mapped pages without asking afterwards whether these could be read:
 * through a view of a value, or as they went over a block of a table. Java tells such a thread
 * late, see {@link Region#requirePagesRead}, and so it has to ask before it begins what must not be
 * interrupted. Others need not, which saves them an array.
 */
public final class LateFaults {
  private static final class State {
    boolean isToAsk;
    boolean alwaysHasToAsk;
  }

  private static final ThreadLocal<State> STATE = ThreadLocal.withInitial(State::new);

  private LateFaults() {}

  /** The calling thread reads mapped pages and does not ask. */
  public static void mayFollow() {
    STATE.get().isToAsk = true;
  }

  /**
   * The calling thread has been given what it can read at any time: a view, or a cursor. They may
   * be another store's than the one it writes to, so nobody can tell when that is over.
   */
  public static void mayAlwaysFollow() {
    STATE.get().alwaysHasToAsk = true;
  }

  /** Whether the calling thread has to ask. */
  public static boolean areExpected() {
    State state = STATE.get();
    return state.isToAsk || state.alwaysHasToAsk;
  }

  /** The calling thread has asked. */
  public static void wereAsked() {
    STATE.get().isToAsk = false;
  }
}
