package io.kvsep.internal.concurrent;

import org.jspecify.annotations.Nullable;

/**
 * Steps each of which has to be tried whatever became of those before it, as when things are given
 * back. Keeps what they threw, Errors too: an unreadable page of a mapping is one. Not thread safe.
 */
public final class CleanupSteps {
  private @Nullable Throwable first;

  /** Runs the step; whether it succeeded. */
  public boolean run(Runnable step) {
    try {
      step.run();
      return true;
    } catch (RuntimeException | Error e) {
      if (first == null) {
        first = e;
      } else if (first != e) {
        first.addSuppressed(e);
      }
      return false;
    }
  }

  /** Throws what was thrown first, with the rest as suppressed, if anything was. */
  public void throwFirst() {
    Throwable thrown = first;
    if (thrown instanceof Error error) {
      throw error;
    }
    if (thrown instanceof RuntimeException exception) {
      throw exception;
    }
  }
}
