package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.version.VersionSet;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;

/**
 * Carries out what the picker chooses, on tables that are sets of versions, several plans at once
 * and in any order of completion, with flushes between. Newer versions must always stay above older
 * ones, and what a plan took for the bottom must be the bottom until it is over.
 */
final class CompactionOrderTest {
  private static final StoreId STORE = new StoreId(3, 4);

  @Test
  void newerVersionsStayAboveOlderOnes() {
    Seeds.some(getClass(), "newerVersionsStayAboveOlderOnes", 120, 20, seed -> new Run(seed).go());
  }

  private static final class Run {
    final Random random;
    final MemoryLedger ledger = new MemoryLedger();
    final CompactionConfig config;
    final CompactionPicker picker;
    final int keys;

    /** How often a key has nothing left at the bottom: with many, levels become empty again. */
    final double goneRate;

    /** What is in each table: versions by key. */
    final Map<Long, NavigableMap<Integer, NavigableSet<Long>>> contents = new HashMap<>();

    final Set<TableFile> busy = new HashSet<>();
    final List<CompactionPlan> running = new ArrayList<>();
    long sequence;

    Run(long seed) {
      random = new Random(seed);
      keys = 20 + random.nextInt(180);
      goneRate = random.nextInt(3) * 0.4;
      config =
          new CompactionConfig(
              1 + random.nextInt(4),
              200L + random.nextInt(2000),
              50 + random.nextInt(200),
              0.1 + random.nextInt(4) * 0.2,
              random.nextInt(3) * 500L,
              TableOptions.defaults(STORE));
      picker = new CompactionPicker(config);
    }

    void go() {
      try (VersionSet versions =
          VersionSet.create(
              new CrashableStorage(),
              STORE,
              ledger,
              (tables, segments) -> {},
              Readers.unbounded())) {
        versions.apply(new VersionEdit().addSegment(1));
        int runningMax = 1 + random.nextInt(4);
        for (int step = 0; step < 300; step++) {
          int choice = random.nextInt(3);
          if (choice == 0) {
            flush(versions);
          } else if (choice == 1 && running.size() < runningMax) {
            start(versions);
          } else if (!running.isEmpty()) {
            complete(versions, running.remove(random.nextInt(running.size())));
          }
          checkOrder(versions.current());
        }
        settle(versions);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    /** Everything that is due is done in the end, and then nothing is due. */
    private void settle(VersionSet versions) {
      int steps = 0;
      while (start(versions) || !running.isEmpty()) {
        if (!running.isEmpty()) {
          complete(versions, running.remove(running.size() - 1));
          checkOrder(versions.current());
        }
        assertTrue(++steps < 10_000, "compactions have no end");
      }
      Version version = versions.current();
      int base = picker.baseLevel(version, Set.of());
      for (int level = 0; level < Version.LEVELS - 1; level++) {
        assertTrue(picker.score(version, level, base, sequence) < 1);
      }
    }

    private void flush(VersionSet versions) {
      NavigableMap<Integer, NavigableSet<Long>> versionsByKey = new TreeMap<>();
      int from = random.nextInt(keys);
      int width = 1 + random.nextInt(random.nextBoolean() ? keys : 10);
      int count = 1 + random.nextInt(30);
      for (int i = 0; i < count; i++) {
        int key = Math.min(keys - 1, from + random.nextInt(width));
        versionsByKey.computeIfAbsent(key, k -> new TreeSet<>()).add(++sequence);
      }
      VersionEdit edit = new VersionEdit();
      edit.addTable(0, table(versions, versionsByKey));
      versions.apply(edit);
    }

    private TableMeta table(
        VersionSet versions, NavigableMap<Integer, NavigableSet<Long>> versionsByKey) {
      long number = versions.newFileNumber();
      contents.put(number, versionsByKey);
      long entries = 0;
      for (NavigableSet<Long> of : versionsByKey.values()) {
        entries += of.size();
      }
      // Some of the entries point to a record, of one length or of any.
      long records = random.nextLong(entries + 1);
      long recordBytes = random.nextBoolean() ? 1 : 1 + random.nextLong(1000);
      List<SegmentUse> uses =
          records == 0 ? List.of() : List.of(new SegmentUse(1, records * recordBytes, records));
      return new TableMeta(
          number,
          10 + 10 * entries,
          key(versionsByKey.firstKey()),
          key(versionsByKey.lastKey()),
          1,
          sequence,
          entries,
          0,
          0,
          0,
          1,
          0,
          0,
          0,
          uses);
    }

    private static byte[] key(int number) {
      return new byte[] {(byte) (number >>> 8), (byte) number};
    }

    private boolean start(VersionSet versions) {
      Version version = versions.current();
      CompactionPlan plan = picker.pick(version, Set.copyOf(busy), Set.of(), 0, sequence);
      if (plan == null) {
        return false;
      }
      for (TableFile table : plan.tables()) {
        assertTrue(busy.add(table), "a plan touches a table of another");
      }
      assertTrue(version.level(plan.inputLevel()).containsAll(plan.inputs()));
      assertTrue(version.level(plan.outputLevel()).containsAll(plan.overlaps()));
      assertTrue(plan.inputLevel() < plan.outputLevel());
      for (int level = plan.inputLevel() + 1; level < plan.outputLevel(); level++) {
        assertEquals(0, version.level(level).size(), "data falls past a level");
      }
      assertFalse(plan.move() && !plan.overlaps().isEmpty());
      running.add(plan);
      return true;
    }

    private void complete(VersionSet versions, CompactionPlan plan) {
      Set<Integer> planKeys = new HashSet<>();
      for (TableFile table : plan.tables()) {
        planKeys.addAll(contents(table).keySet());
      }
      if (plan.bottom()) {
        // Its tombstones are gone: nothing may have come below since it was chosen.
        for (int level = plan.outputLevel() + 1; level < Version.LEVELS; level++) {
          for (TableFile table : versions.current().level(level)) {
            assertTrue(contents(table).keySet().stream().noneMatch(planKeys::contains));
          }
        }
      }
      VersionEdit edit = new VersionEdit();
      plan.inputs().forEach(t -> edit.removeTable(plan.inputLevel(), t.meta().number()));
      if (plan.move()) {
        plan.inputs().forEach(t -> edit.addTable(plan.outputLevel(), t.meta()));
      } else {
        plan.overlaps().forEach(t -> edit.removeTable(plan.outputLevel(), t.meta().number()));
        for (NavigableMap<Integer, NavigableSet<Long>> output : merge(plan)) {
          edit.addTable(plan.outputLevel(), table(versions, output));
        }
      }
      // Refused where key ranges would meet.
      versions.apply(edit);
      plan.tables().forEach(busy::remove);
    }

    /** All versions of the plan's tables, but for some old ones, cut at changes of key. */
    private List<NavigableMap<Integer, NavigableSet<Long>>> merge(CompactionPlan plan) {
      NavigableMap<Integer, NavigableSet<Long>> merged = new TreeMap<>();
      for (TableFile table : plan.tables()) {
        contents(table)
            .forEach((key, of) -> merged.computeIfAbsent(key, k -> new TreeSet<>()).addAll(of));
      }
      List<NavigableMap<Integer, NavigableSet<Long>>> outputs = new ArrayList<>();
      NavigableMap<Integer, NavigableSet<Long>> output = new TreeMap<>();
      long bytes = 0;
      for (Map.Entry<Integer, NavigableSet<Long>> entry : merged.entrySet()) {
        NavigableSet<Long> kept = entry.getValue();
        while (kept.size() > 1 && random.nextBoolean()) {
          kept.pollFirst();
        }
        if (plan.bottom() && random.nextDouble() < goneRate) {
          continue;
        }
        if (bytes >= config.tableBytes()) {
          outputs.add(output);
          output = new TreeMap<>();
          bytes = 0;
        }
        output.put(entry.getKey(), kept);
        bytes += 10L * kept.size();
      }
      if (!output.isEmpty()) {
        outputs.add(output);
      }
      return outputs;
    }

    private NavigableMap<Integer, NavigableSet<Long>> contents(TableFile table) {
      NavigableMap<Integer, NavigableSet<Long>> found = contents.get(table.meta().number());
      assertNotNull(found);
      return found;
    }

    private void checkOrder(Version version) {
      Map<Integer, Long> oldestAbove = new HashMap<>();
      for (int level = 0; level < Version.LEVELS; level++) {
        for (TableFile table : version.level(level)) {
          contents(table)
              .forEach(
                  (key, of) -> {
                    long above = oldestAbove.getOrDefault(key, Long.MAX_VALUE);
                    assertTrue(of.last() < above, () -> "key " + key + " is upside down");
                    oldestAbove.put(key, of.first());
                  });
        }
      }
    }
  }
}
