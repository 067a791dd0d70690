package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.reclaim.Pace;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** How fast values are put in order, beside writers and readers. */
final class ValueOrderingTest {
  private final Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});
  private final AtomicBoolean awaited = new AtomicBoolean();
  private long moved;

  @Test
  void itMakesWayForReadersAndWriters() {
    try (BareVersions versions = new BareVersions()) {
      EngineConfig config = Engines.config(versions.storage, new ManualScheduler(1, 1));
      SegmentDirectory segments = new SegmentDirectory();
      LogSpace space =
          new LogSpace(segments, versions.set, new FileRemover(config, epochs, segments));
      ValueOrdering ordering =
          new ValueOrdering(config, epochs, versions.ledger, space, () -> Long.MAX_VALUE);
      Pace pace = ordering.pace(bytes -> moved += bytes, versions.current(), awaited::get);
      ordering.tick(true);
      assertEquals(100, chargedBy(pace), "when nobody is there");
      EpochSlot<SlotContext> reader = epochs.enter();
      assertEquals(100 + 4 * 1_600, chargedBy(pace), "beside a reader");
      awaited.set(true);
      assertEquals(100, chargedBy(pace), "beside a reader, when somebody waits");
      awaited.set(false);
      ordering.tick(false);
      assertEquals(400, chargedBy(pace), "beside a reader and a writer");
      epochs.exit(reader);
      assertEquals(400, chargedBy(pace), "beside a writer");
    }
  }

  /** What 400 bytes count for. */
  private long chargedBy(Pace pace) {
    moved = 0;
    pace.moved(400);
    return moved;
  }
}
