package io.kvsep.internal.concurrent;

import org.jspecify.annotations.Nullable;

/**
 * Runs every cleanup step even if earlier ones throw, Errors included: an unreadable mapped page is
 * one. Not thread safe.
 */
public final class CleanupSteps {
  private @Nullable Throwable first;

  /** Whether the step succeeded. */
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

  /** Throws the first failure, with the others suppressed. */
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
