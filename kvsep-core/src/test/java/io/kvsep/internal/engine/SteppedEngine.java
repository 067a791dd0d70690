package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.kvsep.internal.config.EngineConfig;
import io.kvsep.testing.ManualScheduler;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** An engine, opened once or again, whose background work is done when the test asks for it. */
final class SteppedEngine {
  private @Nullable ManualScheduler scheduler;
  private @Nullable StorageEngine engine;

  /** Where this throws, the engine from before stays the one there is. */
  void open(Function<ManualScheduler, EngineConfig> config) {
    ManualScheduler made = new ManualScheduler(11, 2);
    engine = StorageEngine.open(config.apply(made));
    scheduler = made;
  }

  StorageEngine get() {
    StorageEngine open = engine;
    assertNotNull(open);
    return open;
  }

  /** Does all that waits, and what the timer would do. */
  void background() {
    ManualScheduler waiting = scheduler;
    assertNotNull(waiting);
    waiting.tick();
    waiting.runAll();
  }

  /** Gives the engine's memory back; the storage is gone or of no interest any more. */
  void abandon() {
    try {
      get().close();
    } catch (RuntimeException e) {
      // The storage refuses everything after its crash.
    }
    assertEquals(0, get().memoryBytes(), "off-heap bytes after a crash");
  }
}
