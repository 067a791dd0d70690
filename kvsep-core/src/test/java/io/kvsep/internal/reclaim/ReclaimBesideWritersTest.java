package io.kvsep.internal.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.read.StoreReads;
import io.kvsep.internal.write.BatchWrites;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Others write while files of the value log are rewritten. */
final class ReclaimBesideWritersTest {
  private static final ScanBounds ALL = new ScanBounds(0, null, null, false, false, Long.MAX_VALUE);
  private static final int KEYS = 300;

  /** Many times as many as any test has to do. */
  private static final int JOBS_MAX = 200;

  private final ManualScheduler scheduler = new ManualScheduler(1, 2);
  private final Random random = new Random(1);
  private final TreeMap<String, byte[]> model = new TreeMap<>();

  private int jobs;

  /** What others do when a job has been chosen and begins its file. */
  private Runnable duringJob = () -> {};

  private final StorageEngine engine = open();

  /** Lets others write in the middle of each job. */
  private final class Interleaving extends ForwardingStorage {
    private boolean inside;

    Interleaving() {
      super(new CrashableStorage());
    }

    @Override
    public StorageFile create(String name) throws IOException {
      if (!inside && StoreFiles.kindOf(name) == StoreFiles.Kind.SEGMENT && isInJob()) {
        inside = true;
        jobs++;
        if (jobs > JOBS_MAX) {
          throw new IllegalStateException("one job after another");
        }
        try {
          duringJob.run();
        } finally {
          inside = false;
        }
      }
      return super.create(name);
    }

    private static boolean isInJob() {
      return StackWalker.getInstance()
          .walk(
              frames ->
                  frames.anyMatch(
                      frame -> frame.getClassName().equals(ReclaimJob.class.getName())));
    }
  }

  private StorageEngine open() {
    EngineConfig base = Engines.config(new Interleaving(), scheduler);
    ReclaimGoal goal = new ReclaimGoal(1.5, 1 << 10, 16 << 10);
    return StorageEngine.open(ConfigDraft.of(base).reclaim(Engines.reclaim(goal)).build());
  }

  @AfterEach
  void checkAndClose() {
    for (Map.Entry<String, byte[]> entry : model.entrySet()) {
      byte[] key = entry.getKey().getBytes(UTF_8);
      byte[] found = engine.reads().get(0, key, StoreReads.LATEST);
      assertArrayEquals(entry.getValue(), found, entry.getKey());
    }
    engine.close();
    assertEquals(0, engine.memoryBytes());
  }

  private void put(int index) {
    String key = String.format("key-%04d", index);
    byte[] value = new byte[200];
    random.nextBytes(value);
    engine.writes().put(0, key.getBytes(UTF_8), value, 0);
    model.put(key, value);
  }

  private void overwrite(int writes) {
    for (int i = 0; i < writes; i++) {
      put(random.nextInt(KEYS));
    }
  }

  @Test
  void aCallEndsHoweverFastOthersOverwrite() {
    for (int i = 0; i < 2 * KEYS; i++) {
      put(i % KEYS);
    }
    duringJob =
        () -> {
          overwrite(KEYS / 10);
          engine.flush();
          engine.compactTables();
        };

    ReclaimReport result = engine.reclaim();

    assertTrue(result.filesRewritten() > 0, result::toString);
    assertTrue(jobs > 2, () -> jobs + " jobs");
  }

  @Test
  void whatComesDuringACallIsForTheBackground() {
    for (int i = 0; i < 2 * KEYS; i++) {
      put(i % KEYS);
    }
    duringJob =
        () -> {
          for (int i = 0; i < KEYS; i++) {
            // Nothing in the active segment, which would be ended for it and looked at then.
            if (i < KEYS / 2) {
              put(i);
            }
            put(i);
          }
          engine.flush();
          engine.compactTables();
        };
    engine.reclaim();
    long left = engine.stats().reclaim().reclaimableBytes();
    assertTrue(left > engine.stats().logLiveBytes() / 4, () -> left + " bytes left");
    duringJob = () -> {};

    for (int i = 0; i < 4; i++) {
      scheduler.tick();
      scheduler.runAll();
    }
    StoreStats stats = engine.stats();
    assertTrue(
        stats.reclaim().reclaimableBytes() < stats.logLiveBytes() / 4,
        () -> stats.reclaim() + " beside " + stats.logLiveBytes());
  }

  /** Whether writers are slowed down shows in what is refused to those that must not wait. */
  @Test
  void aCursorDoesNotSlowWritersDownForTheFilesThatItKeeps() {
    for (int i = 0; i < 4 * KEYS; i++) {
      put(i % KEYS);
    }
    engine.flush();
    SnapshotCursor cursor = engine.reads().cursor(ALL, StoreReads.LATEST);
    engine.reclaim();
    jobs = 0;
    int[] refusals = new int[1];
    duringJob =
        () -> {
          BatchWrites buffer = new BatchWrites();
          buffer.put(0, "other".getBytes(UTF_8), new byte[1], 0);
          refusals[0] += engine.writes().tryWrite(buffer) ? 0 : 1;
        };
    for (int round = 0; round < 24; round++) {
      overwrite(KEYS / 8);
      engine.compactTables();
      scheduler.tick();
      scheduler.runAll();
    }

    StoreStats stats = engine.stats();
    assertTrue(jobs > 8, () -> jobs + " jobs");
    assertTrue(stats.pinned().logBytes() > stats.logLiveBytes(), () -> "pinned: " + stats.pinned());
    assertEquals(0, refusals[0], () -> "of " + jobs);
    cursor.close();
  }
}
