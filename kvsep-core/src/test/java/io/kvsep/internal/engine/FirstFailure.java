package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.KvException;
import io.kvsep.error.StoreFailedException;
import org.jspecify.annotations.Nullable;

/**
 * The failure that made writing unsafe, if there was one. From then on a store has to refuse with
 * the same cause whatever it is asked for.
 */
final class FirstFailure {
  private final boolean strict;
  private @Nullable Throwable cause;

  /**
   * @param strict whether later errors have to fit; where a crash stops everything they need not
   */
  FirstFailure(boolean strict) {
    this.strict = strict;
  }

  boolean happened() {
    return cause != null;
  }

  void forget() {
    cause = null;
  }

  void note(KvException error) {
    if (error instanceof StoreFailedException && !happened()) {
      cause = error.getCause();
      assertNotNull(cause, "the cause of a failed store");
    } else if (strict && error instanceof StoreFailedException) {
      assertSame(cause, error.getCause(), "the first cause");
    } else if (strict) {
      assertTrue(!happened(), "a failed store has to say so, but gave: " + error);
    }
  }
}
