package io.kvsep.bench;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.concurrent.Semaphore;

/**
 * An action to run at the end: by {@link #close}, or by a shutdown hook if a signal ends the
 * process, as that runs no finally block. Only one of the two runs it. While the hook runs, threads
 * that create or close a Cleanup block forever, so nothing new appears while it removes what
 * exists. Actions must not use this class. Thread safe.
 */
public final class Cleanup implements AutoCloseable {
  /** Retries, because a folder may still be written to. */
  private static final int TRIES = 10;

  /** Acquired for good by the hook. */
  private static final Semaphore TURN = new Semaphore(1);

  /** Newest first, like finally blocks. */
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
