package io.kvsep.internal.compaction;

import static java.util.Objects.requireNonNull;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

/** Which tables are rewritten because their values have moved. */
final class IndirectPointerPickerTest {
  private static final int LAST = Version.LEVELS - 1;

  @Test
  void tablesArePointedStraightUntilNoneIsWorthIt() {
    Seeds.each(
        getClass(),
        200,
        random -> {
          try (Moved moved = new Moved(random)) {
            Set<Long> refused = new HashSet<>(moved.tables.keySet());
            refused.removeIf(table -> random.nextInt(3) > 0);
            moved.rewriteAll(refused);
            moved.rewriteAll(Set.of());
          }
        });
  }

  /** Tables of the last level, and where reclaim has moved what they reference. */
  private static final class Moved implements AutoCloseable {
    final Random random;
    final BareVersions versions = new BareVersions();

    /** Records of ten bytes that each table of the last level references, by segment. */
    final TreeMap<Long, Map<Long, Long>> tables = new TreeMap<>();

    /** The file to which a segment was moved. */
    final Map<Long, Long> homes = new HashMap<>();

    /** Of those, where nearly all is live. */
    final Set<Long> lasting = new HashSet<>();

    Moved(Random random) {
      this.random = random;
      List<Long> segments = new ArrayList<>();
      int count = 1 + random.nextInt(12);
      for (int i = 0; i < count; i++) {
        segments.add(versions.addSegment(1_000_000));
      }
      Map<Long, Long> live = new HashMap<>();
      int tableCount = 1 + random.nextInt(20);
      for (int i = 0; i < tableCount; i++) {
        int level = random.nextInt(4) == 0 ? 1 + random.nextInt(LAST - 1) : LAST;
        Map<Long, Long> records = new TreeMap<>();
        for (int use = random.nextInt(5); use > 0; use--) {
          long segment = segments.get(random.nextInt(count));
          records.putIfAbsent(segment, 1L + random.nextInt(random.nextBoolean() ? 10 : 1_000));
        }
        records.forEach((segment, n) -> live.merge(segment, n, Long::sum));
        TableMeta meta = meta(i, records);
        versions.set.apply(new VersionEdit().addTable(level, meta));
        if (level == LAST) {
          tables.put(meta.number(), records);
        }
      }
      while (!segments.isEmpty() && random.nextInt(5) > 0) {
        move(segments, live);
      }
    }

    /** Some segments, into a file that has some garbage by now. */
    private void move(List<Long> segments, Map<Long, Long> live) {
      List<Long> some = segments.subList(0, 1 + random.nextInt(segments.size()));
      long bytes = 10 * some.stream().mapToLong(id -> live.getOrDefault(id, 0L)).sum();
      boolean isLasting = random.nextBoolean();
      long length = isLasting ? bytes + bytes / 20 : 2 * bytes;
      long file = versions.relocate(some, Math.max(1, length));
      some.forEach(segment -> homes.put(segment, file));
      if (isLasting) {
        lasting.add(file);
      }
      some.clear();
    }

    private TableMeta meta(int place, Map<Long, Long> records) {
      List<SegmentUse> uses = new ArrayList<>();
      records.forEach((segment, n) -> uses.add(new SegmentUse(segment, 10 * n, n)));
      byte[] smallest = {1, (byte) place, 0};
      byte[] largest = {1, (byte) place, 1};
      return versions.meta(smallest, largest, 100, uses);
    }

    private boolean isDetour(long segment) {
      Long home = homes.get(segment);
      return home != null && lasting.contains(home);
    }

    /** Whether more than an eighth of a table's values are found by the names of what is gone. */
    private boolean isWorthIt(Map<Long, Long> records) {
      long all = 0;
      long detours = 0;
      for (Map.Entry<Long, Long> use : records.entrySet()) {
        all += use.getValue();
        detours += isDetour(use.getKey()) ? use.getValue() : 0;
      }
      return 8 * detours > all;
    }

    /** Carries rewrites out until there is none. */
    void rewriteAll(Set<Long> refused) {
      Map<Long, Long> live = versions.current().liveBytesByFile();
      Set<Long> worth = new HashSet<>();
      tables.forEach((number, records) -> worth.add(isWorthIt(records) ? number : -1));
      worth.remove(-1L);
      Set<Long> asked = new HashSet<>();
      while (!refused.containsAll(worth)) {
        CompactionPlan plan =
            IndirectPointerPicker.pick(
                versions.current(),
                lasting::contains,
                table -> {
                  asked.add(table.meta().number());
                  return !refused.contains(table.meta().number());
                });
        assertNotNull(plan, () -> "worth it: " + worth);
        assertEquals(LAST, plan.inputLevel());
        assertEquals(LAST, plan.outputLevel());
        assertTrue(plan.bottom() && !plan.move());
        assertEquals(1, plan.tables().size(), "one by one");
        TableMeta table = plan.inputs().get(0).meta();
        assertTrue(worth.containsAll(asked), () -> asked + " are asked of, worth it: " + worth);
        assertTrue(worth.remove(table.number()) && !refused.contains(table.number()));
        rewrite(table);
        asked.clear();
      }
      assertNull(
          IndirectPointerPicker.pick(
              versions.current(),
              lasting::contains,
              table -> !refused.contains(table.meta().number())));
      assertNull(IndirectPointerPicker.pick(versions.current(), lasting::contains, table -> false));
      assertEquals(live, versions.current().liveBytesByFile(), "what lives in each file");
    }

    /** What a compaction would make of it. */
    private void rewrite(TableMeta table) {
      Map<Long, Long> straight = new TreeMap<>();
      requireNonNull(tables.remove(table.number()))
          .forEach(
              (segment, records) ->
                  straight.merge(
                      isDetour(segment) ? requireNonNull(homes.get(segment)) : segment,
                      records,
                      Long::sum));
      TableMeta made = meta(table.smallestKey()[1], straight);
      versions.set.apply(new VersionEdit().removeTable(LAST, table.number()).addTable(LAST, made));
      tables.put(made.number(), straight);
    }

    @Override
    public void close() {
      versions.close();
    }
  }
}
