package io.kvsep.internal.reclaim;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.PointerRefresh;
import io.kvsep.internal.compaction.PointerTargets;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.internal.vlog.Segment;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Compactions that write pointers into relocated files, beside jobs that rewrite such files. */
final class RefreshTargetsTest {
  private static final int LAST = 6;
  private static final int KEYS = 40;

  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});
  private final SegmentDirectory segments = new SegmentDirectory();
  private final VersionSet versions;
  private final RefreshTargets targets;
  private final Set<Long> relocated = new HashSet<>();

  /** Runs before a relocated file is looked at for the first time. */
  private Runnable beforeLook = () -> {};

  RefreshTargetsTest() throws IOException {
    CrashableStorage storage = withRelocatedValues();
    versions =
        VersionSet.open(
            storage, /* readOnly= */ false, ledger, (tables, ids) -> {}, Readers.unbounded(ledger));
    ForwardingStorage watched =
        new ForwardingStorage(storage) {
          @Override
          public StorageFile open(String name, boolean writable) throws IOException {
            beforeLook.run();
            return super.open(name, writable);
          }
        };
    for (SegmentState state : versions.current().segments().values()) {
      if (state.hasFile() && !state.isLog()) {
        relocated.add(state.id());
        segments.add(
            Segment.openRelocated(
                watched, versions.storeId(), state.id(), state.sealedLength(), epochs, ledger));
      }
    }
    assertFalse(relocated.isEmpty());
    targets = new RefreshTargets(versions, segments, epochs);
  }

  /** A store whose tables name segments that were rewritten. */
  private static CrashableStorage withRelocatedValues() {
    CrashableStorage storage = new CrashableStorage();
    try (StorageEngine engine = Engines.open(storage, new ManualScheduler(1, 1))) {
      Random random = new Random(1);
      for (int i = 0; i < 3 * KEYS; i++) {
        byte[] value = new byte[600];
        random.nextBytes(value);
        engine.writes().put(0, ("key" + random.nextInt(KEYS)).getBytes(UTF_8), value, 0);
      }
      engine.reclaim();
    }
    return storage.crashKeepingAll();
  }

  @AfterEach
  void everythingIsGivenBack() {
    versions.close();
    epochs.drain();
    segments.free();
    epochs.free();
    assertEquals(0, ledger.totalBytes());
  }

  /** One that rewrites every table of the last level. */
  private CompactionPlan plan() {
    return new CompactionPlan(
        LAST, LAST, versions.current().level(LAST), List.of(), /* bottom= */ true, false);
  }

  private Set<Long> pinned() {
    Set<Long> told = new HashSet<>();
    targets
        .claim(
            (version, files) -> {
              told.addAll(files);
              return null;
            })
        .close();
    return told;
  }

  @Test
  void aVictimOfAJobAtWorkIsNotPinned() {
    ReclaimPlan victims = new ReclaimPlan(relocated, Map.of(), 0);
    try (RefreshTargets.Claim job = targets.claim((version, files) -> victims)) {
      assertSame(victims, job.plan());
      try (PointerTargets.Pins pins = targets.pin(plan())) {
        assertSame(PointerRefresh.NONE, pins.pointers());
      }
    }
    try (PointerTargets.Pins pins = targets.pin(plan())) {
      assertNotSame(PointerRefresh.NONE, pins.pointers());
    }
  }

  @Test
  void aJobIsToldOfEachFileUntilTheLastCompactionHasUnpinnedIt() {
    assertEquals(Set.of(), pinned());
    PointerTargets.Pins first = targets.pin(plan());
    PointerTargets.Pins second = targets.pin(plan());
    assertEquals(relocated, pinned());
    first.close();
    assertEquals(relocated, pinned());
    second.close();
    assertEquals(Set.of(), pinned());
  }

  /** The first look maps the file, which takes time in which a job may end. */
  @Test
  void aFileThatWasRewrittenSinceTheLookIsNotPinned() {
    CompactionPlan plan = plan();
    beforeLook =
        () -> {
          beforeLook = () -> {};
          long file = versions.newSegmentId();
          VersionEdit edit = new VersionEdit().addRelocated(file, 1_000);
          for (SegmentState state : versions.current().segments().values()) {
            if (!state.hasFile()) {
              edit.relocateSegment(state.id(), file);
            }
          }
          versions.apply(edit);
        };
    try (PointerTargets.Pins pins = targets.pin(plan)) {
      assertSame(PointerRefresh.NONE, pins.pointers());
    }
  }
}
