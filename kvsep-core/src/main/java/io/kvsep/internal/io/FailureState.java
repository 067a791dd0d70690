package io.kvsep.internal.io;

import io.kvsep.error.StoreFailedException;
import java.io.IOException;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** The first failure after which nothing may be written. Thread safe. */
public final class FailureState {
  private final AtomicReference<@Nullable Throwable> first = new AtomicReference<>();

  /** Records the cause if it is the first; returns the error to throw. */
  public StoreFailedException fail(Throwable cause) {
    first.compareAndSet(null, cause instanceof StoreFailedException ? cause.getCause() : cause);
    return error();
  }

  /** Runs a change of the manifest; if it fails permanently, so does the store. */
  public void guard(Runnable change) {
    try {
      change.run();
    } catch (StoreFailedException e) {
      throw fail(e);
    }
  }

  /**
   * Checks that the directory is still the store's, unless the store has failed. Ignores errors of
   * the check, because operations by name meet them too.
   */
  public void look(Storage storage) {
    if (!hasFailed()) {
      try {
        storage.checkDirectory();
      } catch (IOException e) {
        return;
      }
    }
  }

  public void check() {
    if (first.get() != null) {
      throw error();
    }
  }

  public boolean hasFailed() {
    return first.get() != null;
  }

  private StoreFailedException error() {
    Throwable cause = first.get();
    if (cause instanceof LostDirectoryException) {
      return new StoreFailedException(cause.getMessage() + "; close the store", cause);
    }
    return new StoreFailedException(
        "an earlier failure makes writing unsafe; close and open the store to recover",
        cause == null ? new IllegalStateException("unknown") : cause);
  }
}
