package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;

/** How fast values are put in order, beside writers and readers. */
final class ValueReorderingTest {
  private static final long MIB = 1 << 20;

  private final Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});
  private final AtomicBoolean awaited = new AtomicBoolean();
  private long moved;
  private int rests;

  @Test
  void itMakesWayForReadersAndWriters() {
    try (BareVersions versions = new BareVersions()) {
      EngineConfig config = Engines.config(versions.storage, new ManualScheduler(1, 1));
      SegmentDirectory segments = new SegmentDirectory();
      LogSpace space =
          new LogSpace(segments, versions.set, new FileRemover(config, epochs, segments));
      ValueReordering ordering =
          new ValueReordering(config, epochs, versions.ledger, space, () -> Long.MAX_VALUE);
      Pace pace =
          ordering.pace(bytes -> moved += bytes, () -> rests++, versions.current(), awaited::get);
      ordering.tick(true);
      assertEquals("moved 1 MiB, rests 0", after(pace, 4 * MIB), "when nobody is there");
      EpochSlot<SlotContext> reader = epochs.enter();
      assertEquals("moved 1 MiB, rests 4", after(pace, 4 * MIB), "beside a reader");
      assertEquals("moved 256 MiB, rests 4", after(pace, 1024 * MIB), "for a large value");
      assertEquals("moved 0 MiB, rests 2", after(pace, MIB), "for a small step");
      assertEquals("moved 0 MiB, rests 0", after(pace, 0), "where nothing was moved");
      awaited.set(true);
      assertEquals("moved 1 MiB, rests 0", after(pace, 4 * MIB), "when somebody waits");
      awaited.set(false);
      ordering.tick(false);
      assertEquals("moved 4 MiB, rests 0", after(pace, 4 * MIB), "beside a writer");
      epochs.exit(reader);
    }
  }

  /** What a step of so many bytes is counted as, and how often it rests. */
  private String after(Pace pace, long bytes) {
    moved = 0;
    rests = 0;
    pace.moved(bytes);
    return "moved " + moved / MIB + " MiB, rests " + rests;
  }
}
