package io.kvsep.bench;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;

/**
 * Something to be done at the end: by {@link #close}, or by a hook of the JVM if a signal ends the
 * process before, since that runs no finally block. Never by both; and once the hook is at work,
 * threads that begin or end anything wait for ever, so that nothing new comes while it removes what
 * is there. Actions must not use this class. Thread safe.
 */
public final class Cleanup implements AutoCloseable {
  /** More than once, for folders that something is still being written to. */
  private static final int TRIES = 10;

  /** Taken for good by the hook. */
  private static final Semaphore TURN = new Semaphore(1);

  /** The newest first, as finally blocks would be. */
  private static final Deque<Cleanup> OPEN = new ArrayDeque<>();

  static {
    Runtime.getRuntime().addShutdownHook(new Thread(Cleanup::closeAll, "cleanup"));
  }

  private final Runnable action;

  private Cleanup(Runnable action) {
    this.action = action;
  }

  public static Cleanup of(Runnable action) {
    Cleanup cleanup = new Cleanup(action);
    TURN.acquireUninterruptibly();
    OPEN.push(cleanup);
    TURN.release();
    return cleanup;
  }

  @Override
  public void close() {
    TURN.acquireUninterruptibly();
    try {
      OPEN.remove(this);
      action.run();
    } finally {
      TURN.release();
    }
  }

  private static void closeAll() {
    TURN.acquireUninterruptibly();
    for (Cleanup cleanup : OPEN) {
      cleanup.tryToRun();
    }
  }

  private void tryToRun() {
    for (int left = TRIES - 1; ; left--) {
      try {
        action.run();
        return;
      } catch (RuntimeException e) {
        if (left == 0) {
          System.err.println("kvsep bench: " + e.getMessage());
          return;
        }
      }
    }
  }
}
