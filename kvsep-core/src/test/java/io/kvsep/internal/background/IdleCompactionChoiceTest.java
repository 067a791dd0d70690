package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.compaction.CompactionConfig;
import io.kvsep.internal.compaction.CompactionPicker;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.IdleCompactionPicker;
import io.kvsep.internal.compaction.IndirectPointerPicker;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.view.SnapshotRegistry;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What is chosen, step by step, for a store that nobody writes to, and that there is an end. */
final class IdleCompactionChoiceTest {
  private static final int LAST = Version.LEVELS - 1;
  private static final int KEYS = 1_000;
  private static final int SEGMENTS = 5;

  /** Of a store of which it does not matter here how new its tables are. */
  private static final long NO_LIMIT = Long.MAX_VALUE;

  @Test
  void stepsEndInLevelsThatLieApartAndTablesThatPointStraight() {
    Seeds.each(
        getClass(),
        100,
        random -> {
          try (Tables tables = new Tables(random)) {
            long limit = tables.newest();
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ false);
            tables.settle(limit);
            assertEquals(0, tables.straightened.size(), "values may move yet");
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            tables.settle(tables.newest());
            assertEquals(List.of(), tables.detours(tables.newest()), tables::toString);
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            assertNull(tables.pick(Set.of()), "nothing is left");
          }
        });
  }

  @Test
  void noTableIsRewrittenTwiceThoughItComesToNothing() {
    Seeds.each(
        getClass(),
        40,
        random -> {
          try (Tables tables = new Tables(random)) {
            tables.rewritesHelp = false;
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            tables.settle(NO_LIMIT);
            long once = tables.straightened.size();
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            assertNull(tables.pick(Set.of()));
            tables.move(1L + random.nextInt(SEGMENTS));
            int detours = tables.detours(tables.newest()).size();
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            tables.settle(NO_LIMIT);
            assertEquals(once + detours, tables.straightened.size(), tables::toString);
          }
        });
  }

  @Test
  void whatIsInUseIsLeftAloneAndComesLater() {
    Seeds.each(
        getClass(),
        60,
        random -> {
          try (Tables tables = new Tables(random)) {
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            for (int i = 0; i < 50; i++) {
              Set<TableFile> inUse = tables.drawn();
              CompactionPlan plan = tables.pick(inUse);
              if (plan != null) {
                assertTrue(plan.tables().stream().noneMatch(inUse::contains), tables::toString);
                tables.carryOut(plan);
              }
            }
            tables.settle(NO_LIMIT);
          }
        });
  }

  @Test
  void whatIsDamagedIsLeftAloneAndTheRestSettlesAllTheSame() {
    Seeds.each(
        getClass(),
        60,
        random -> {
          try (Tables tables = new Tables(random)) {
            tables.damaged.addAll(tables.drawn());
            List<Long> left = tables.damaged.stream().map(table -> table.meta().number()).toList();
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            tables.settle(NO_LIMIT);
            List<Long> detours = tables.detours(tables.newest());
            detours.removeAll(left);
            assertEquals(List.of(), detours, tables::toString);
            assertTrue(tables.all().containsAll(tables.damaged), tables::toString);
          }
        });
  }

  @Test
  void nothingIsChosenOnceSomethingWasWrittenOrFailed() {
    Seeds.each(
        getClass(),
        40,
        random -> {
          try (Tables tables = new Tables(random)) {
            assertNull(tables.pick(Set.of()), "before anybody looked");
            tables.tick(/* quiet= */ false, /* valuesAtRest= */ true);
            assertNull(tables.pick(Set.of()), "while somebody writes");
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            CompactionPlan plan = tables.pick(Set.of());
            tables.write();
            assertNull(tables.pick(Set.of()), "before the next look");
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            assertEquals(plan == null, tables.pick(Set.of()) == null);
            tables.settling.failed();
            assertNull(tables.pick(Set.of()));
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            assertNull(tables.pick(Set.of()), "nothing was written since");
            tables.write();
            tables.tick(/* quiet= */ true, /* valuesAtRest= */ true);
            assertEquals(plan == null, tables.pick(Set.of()) == null);
          }
        });
  }

  /** Levels of tables that point to some segments, of which some were moved. */
  private static final class Tables implements AutoCloseable {
    final Random random;
    final BareVersions versions = new BareVersions();
    final SnapshotRegistry snapshots = new SnapshotRegistry(7, () -> 0);
    final IdleCompactionPicker picker;
    final IdleCompaction settling;

    /** Where the records of a segment that was moved are. */
    final Map<Long, Long> homes = new TreeMap<>();

    /** Tables that were rewritten where they were. */
    final Set<Long> straightened = new HashSet<>();

    /** Tables that stay where they are. */
    final Set<TableFile> damaged = new HashSet<>();

    /** Whether a rewritten table points straight at its values. */
    boolean rewritesHelp = true;

    long filesMoved;

    Tables(Random random) {
      this.random = random;
      // With the shorter ones most of what is in a level is too much for one step.
      long levelBaseBytes = random.nextBoolean() ? 1_000 : 200;
      CompactionConfig config =
          new CompactionConfig(
              4, levelBaseBytes, 500, 0.25, 100, TableOptions.defaults(BareVersions.STORE));
      picker = new IdleCompactionPicker(new CompactionPicker(config), config);
      settling =
          new IdleCompaction(
              picker,
              snapshots,
              (version, mayRewrite) ->
                  IndirectPointerPicker.pick(version, file -> true, mayRewrite));
      List<Long> segments = new ArrayList<>();
      for (int i = 0; i < SEGMENTS; i++) {
        segments.add(versions.addSegment(1 << 20));
      }
      int levelZero = random.nextInt(5);
      for (int i = 0; i < levelZero; i++) {
        int from = random.nextInt(KEYS);
        add(0, from, from + random.nextInt(KEYS - from), segments);
      }
      for (int level = 1; level <= LAST; level++) {
        for (int from = random.nextInt(2 * KEYS); from < KEYS; from += 1 + random.nextInt(300)) {
          int to = from + random.nextInt(100);
          add(level, from, Math.min(to, KEYS - 1), segments);
          from = to;
        }
      }
      for (long segment : segments) {
        if (random.nextBoolean()) {
          move(segment);
        }
      }
    }

    /** Into a file without garbage. */
    void move(long segment) {
      long live = versions.current().liveBytes(segment);
      homes.put(segment, versions.relocate(List.of(segment), Math.max(1, live)));
      filesMoved++;
    }

    private void add(int level, int from, int to, List<Long> segments) {
      List<SegmentUse> uses = new ArrayList<>();
      for (long segment : segments) {
        if (random.nextInt(3) == 0) {
          long records = 1L + random.nextInt(20);
          uses.add(new SegmentUse(segment, 10 * records, records));
        }
      }
      TableMeta meta = versions.meta(key(from), key(to), 50 + random.nextInt(500), uses);
      versions.set.apply(new VersionEdit().addTable(level, meta));
    }

    void tick(boolean quiet, boolean valuesAtRest) {
      settling.tick(quiet, valuesAtRest, filesMoved);
    }

    void write() {
      snapshots.publish(snapshots.visibleSequence() + 1);
    }

    @Nullable CompactionPlan pick(Set<TableFile> untouchable) {
      return settling.pick(versions.current(), untouchable, damaged);
    }

    /**
     * Carries out what is chosen until there is nothing more.
     *
     * @param limit newer tables must not be rewritten where they are
     */
    void settle(long limit) {
      for (int steps = 0; ; steps++) {
        CompactionPlan plan = pick(damaged);
        if (plan == null) {
          break;
        }
        assertTrue(steps < 1_000, "it has no end");
        assertTrue(plan.tables().stream().noneMatch(damaged::contains), this::toString);
        assertTrue(plan.inputLevel() < LAST || newest(plan.tables()) <= limit, this::toString);
        carryOut(plan);
      }
      assertEquals(
          IdleCompactionPicker.NO_LEVEL,
          picker.level(versions.current(), damaged, damaged, /* affordableBytes= */ 0));
    }

    /** What a compaction would make of it: one table, or the same ones further down. */
    void carryOut(CompactionPlan plan) {
      Version version = versions.current();
      VersionEdit edit = new VersionEdit();
      for (TableFile table : plan.inputs()) {
        assertTrue(version.level(plan.inputLevel()).contains(table));
        edit.removeTable(plan.inputLevel(), table.meta().number());
      }
      for (TableFile table : plan.overlaps()) {
        assertTrue(version.level(plan.outputLevel()).contains(table));
        edit.removeTable(plan.outputLevel(), table.meta().number());
      }
      if (plan.move()) {
        plan.inputs().forEach(table -> edit.addTable(plan.outputLevel(), table.meta()));
      } else {
        TableMeta merged = merged(plan.tables());
        cut(merged, plan.cuts()).forEach(table -> edit.addTable(plan.outputLevel(), table));
        if (plan.inputLevel() == LAST) {
          long number = plan.inputs().get(0).meta().number();
          assertFalse(plan.inputs().size() > 1);
          assertTrue(straightened.add(number));
        }
      }
      long live = version.liveBytes();
      versions.set.apply(edit);
      assertEquals(live, versions.current().liveBytes());
    }

    /** As if there were an entry for each key; the first piece gets all values. */
    private List<TableMeta> cut(TableMeta table, List<byte[]> cuts) {
      List<TableMeta> pieces = new ArrayList<>();
      long bytes = table.fileBytes() / (cuts.size() + 1) + 1;
      int from = number(table.smallestKey());
      int end = number(table.largestKey()) + 1;
      for (byte[] cut : cuts) {
        int to = number(cut);
        if (from < to && to < end) {
          pieces.add(piece(from, to, bytes, pieces.isEmpty() ? table.segments() : List.of()));
          from = to;
        }
      }
      pieces.add(piece(from, end, bytes, pieces.isEmpty() ? table.segments() : List.of()));
      assertEquals(cuts.isEmpty(), pieces.size() == 1, this::toString);
      return pieces;
    }

    private TableMeta piece(int from, int end, long bytes, List<SegmentUse> uses) {
      return versions.meta(key(from), key(end - 1), bytes, uses);
    }

    private static int number(byte[] key) {
      return (key[1] & 0xff) << 8 | (key[2] & 0xff);
    }

    private TableMeta merged(List<TableFile> tables) {
      byte[] smallest = null;
      byte[] largest = null;
      long bytes = 0;
      Map<Long, Long> records = new TreeMap<>();
      for (TableFile table : tables) {
        TableMeta meta = table.meta();
        smallest = smallest == null ? meta.smallestKey() : min(smallest, meta.smallestKey());
        largest = largest == null ? meta.largestKey() : max(largest, meta.largestKey());
        bytes += meta.fileBytes();
        for (SegmentUse use : meta.segments()) {
          long home = homes.getOrDefault(use.segment(), use.segment());
          records.merge(rewritesHelp ? home : use.segment(), use.records(), Long::sum);
        }
      }
      assertNotNull(smallest);
      assertNotNull(largest);
      List<SegmentUse> uses = new ArrayList<>();
      records.forEach((segment, n) -> uses.add(new SegmentUse(segment, 10 * n, n)));
      return versions.meta(smallest, largest, bytes, uses);
    }

    /** Tables of the last level, up to a number, of which too much is found by old names. */
    List<Long> detours(long limit) {
      List<Long> tables = new ArrayList<>();
      for (TableFile table : versions.current().level(LAST)) {
        long old =
            table.meta().segments().stream()
                .filter(use -> homes.containsKey(use.segment()))
                .mapToLong(SegmentUse::records)
                .sum();
        if (table.meta().number() <= limit && 8 * old > table.recordCount()) {
          tables.add(table.meta().number());
        }
      }
      return tables;
    }

    private List<TableFile> all() {
      List<TableFile> all = new ArrayList<>();
      for (int level = 0; level < Version.LEVELS; level++) {
        all.addAll(versions.current().level(level));
      }
      return all;
    }

    Set<TableFile> drawn() {
      Set<TableFile> drawn = new HashSet<>(all());
      drawn.removeIf(table -> random.nextInt(4) > 0);
      return drawn;
    }

    long newest() {
      return newest(all());
    }

    private static long newest(List<TableFile> tables) {
      return tables.stream().mapToLong(table -> table.meta().number()).max().orElse(0);
    }

    private static byte[] min(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(a, b) <= 0 ? a : b;
    }

    private static byte[] max(byte[] a, byte[] b) {
      return Arrays.compareUnsigned(a, b) >= 0 ? a : b;
    }

    private static byte[] key(int n) {
      return new byte[] {1, (byte) (n >>> 8), (byte) n};
    }

    @Override
    public void close() {
      versions.close();
    }

    @Override
    public String toString() {
      StringBuilder levels = new StringBuilder("moved " + homes);
      for (int level = 0; level < Version.LEVELS; level++) {
        levels.append("; level ").append(level).append(": ");
        versions.current().level(level).stream()
            .map(TableFile::meta)
            .sorted(Comparator.comparing(TableMeta::number))
            .forEach(meta -> levels.append(meta).append(meta.segments()));
      }
      return levels.toString();
    }
  }
}
