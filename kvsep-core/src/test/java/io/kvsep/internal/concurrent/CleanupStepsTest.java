package io.kvsep.internal.concurrent;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

final class CleanupStepsTest {
  private final CleanupSteps attempts = new CleanupSteps();

  private static Runnable failing(RuntimeException thrown) {
    return () -> {
      throw thrown;
    };
  }

  private static Runnable failing(Error thrown) {
    return () -> {
      throw thrown;
    };
  }

  @Test
  void whereNothingWasThrownNothingIs() {
    assertTrue(attempts.run(() -> {}));
    attempts.throwFirst();
  }

  @Test
  void theFirstIsThrownAndHasTheOthers() {
    InternalError first = new InternalError("first");
    IllegalStateException second = new IllegalStateException("second");
    assertFalse(attempts.run(failing(first)));
    assertTrue(attempts.run(() -> {}));
    assertFalse(attempts.run(failing(second)));
    assertSame(first, assertThrows(InternalError.class, attempts::throwFirst));
    assertArrayEquals(new Throwable[] {second}, first.getSuppressed());
  }

  /** The virtual machine has errors that it throws again and again. */
  @Test
  void theSameMayBeThrownTwice() {
    IllegalStateException same = new IllegalStateException("same");
    assertFalse(attempts.run(failing(same)));
    assertFalse(attempts.run(failing(same)));
    assertSame(same, assertThrows(IllegalStateException.class, attempts::throwFirst));
  }
}
