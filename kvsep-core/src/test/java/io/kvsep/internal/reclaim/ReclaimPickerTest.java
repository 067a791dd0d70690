package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.reclaim.ReclaimPicker.Balance;
import io.kvsep.internal.reclaim.ReclaimPicker.Damage;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.SegmentState;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.vlog.BlobFileWriter;
import io.kvsep.testing.BareVersions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which files of the value log are worth rewriting. */
final class ReclaimPickerTest {
  private static final int LAST = Version.LEVELS - 1;
  private static final int SEGMENTS = 40;
  private static final long SEGMENT_BYTES = 1_000_000;

  private static ReclaimPicker picker(double spaceAmplificationMax) {
    return new ReclaimPicker(
        new ReclaimGoal(spaceAmplificationMax, /* slackBytes= */ 0, 8 * SEGMENT_BYTES));
  }

  /** Adds segments with the same part of garbage each. */
  private static void addSegments(BareVersions versions, double garbageShare) {
    long live = Math.round(SEGMENT_BYTES * (1 - garbageShare));
    List<SegmentUse> uses = new ArrayList<>();
    for (int i = 0; i < SEGMENTS; i++) {
      uses.add(new SegmentUse(versions.addSegment(SEGMENT_BYTES), live, /* records= */ 100));
    }
    byte[] key = {1};
    versions.set.apply(new VersionEdit().addTable(LAST, versions.meta(key, key, 100, uses)));
  }

  /** Does one job after the other until there is none; how many files were rewritten. */
  private static int rewrite(BareVersions versions, ReclaimPicker picker) {
    int files = 0;
    ReclaimPlan plan = picker.pick(versions.current(), Damage.NONE);
    while (plan != null && files <= SEGMENTS) {
      files += plan.files().size();
      long live = 0;
      long records = 0;
      for (long segment : plan.segments().keySet()) {
        live += versions.current().liveBytes(segment);
        records += plan.segments().getOrDefault(segment, 0L);
      }
      List<Long> moved = new ArrayList<>();
      for (SegmentState segment : versions.current().segments().values()) {
        if (plan.files().contains(segment.home())) {
          moved.add(segment.id());
        }
      }
      versions.relocate(moved, BlobFileWriter.fileBytes(live, records, plan.segments().size()));
      plan = picker.pick(versions.current(), Damage.NONE);
    }
    return files;
  }

  /** However evenly it is spread over the files, and each is rewritten at most once. */
  @ParameterizedTest
  @CsvSource({"1.05, 0.04", "1.05, 0.06", "1.05, 0.09", "1.08, 0.09", "1.1, 0.095", "1.5, 0.4"})
  void noMoreGarbageIsLeftThanThereMayBe(double spaceAmplificationMax, double garbageShare) {
    try (BareVersions versions = new BareVersions()) {
      addSegments(versions, garbageShare);
      ReclaimPicker picker = picker(spaceAmplificationMax);

      int files = rewrite(versions, picker);

      assertTrue(files > 0 && files <= SEGMENTS, () -> files + " files");
      Balance balance = picker.balance(versions.current());
      double allowed = (spaceAmplificationMax - 1) * balance.neededBytes();
      assertTrue(balance.garbageBytes() <= allowed / 2, balance::toString);
    }
  }

  @ParameterizedTest
  @CsvSource({"1.05, 0.029", "1.15, 0.06", "1.25, 0.099"})
  void noFileIsRewrittenThatGivesHardlyAnythingBack(
      double spaceAmplificationMax, double garbageShare) {
    try (BareVersions versions = new BareVersions()) {
      addSegments(versions, garbageShare);
      ReclaimPicker picker = picker(spaceAmplificationMax);
      assertTrue(picker.isDue(versions.current()));
      assertNull(picker.pick(versions.current(), Damage.NONE));
    }
  }
}
