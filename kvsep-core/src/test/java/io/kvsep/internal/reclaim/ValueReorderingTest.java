package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.background.FileRemover;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.config.ReclaimGoal;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.SlotContext;
import io.kvsep.internal.reclaim.ReclaimPicker.Damage;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.sstable.TableMeta.SegmentUse;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.sstable.TableWriter;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.vlog.SegmentDirectory;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which files of the log are taken for being out of order, and which of them are rewritten. */
final class ValueReorderingTest {
  private static final int LAST = 6;
  private static final int LONG_RECORD = 40_000;
  private static final long NO_END = Long.MAX_VALUE;

  /** Where a value lies. */
  private record Place(long segment, long offset, int length) {}

  @Test
  void whatLiesInOrderIsToldFromWhatDoesNot() {
    Seeds.each(
        getClass(),
        40,
        random -> {
          try (Log log = new Log(random)) {
            log.order.look(log.versions.current(), Damage.NONE, () -> true);
            Set<Long> all = log.versions.current().segments().keySet();
            assertTrue(all.stream().noneMatch(log.order::isScattered), log::toString);
            log.order.look(log.versions.current(), Damage.NONE, () -> false);
            for (long segment : all) {
              assertEquals(
                  log.scattered.contains(segment) && !log.longRecords.contains(segment),
                  log.order.isScattered(segment),
                  log::toString);
            }
          }
        });
  }

  @Test
  void whatIsOutOfOrderIsRewrittenOnceAndNothingElse() {
    Seeds.each(
        getClass(),
        40,
        random -> {
          try (Log log = new Log(random)) {
            Set<Long> ids = new TreeSet<>(log.versions.current().segments().keySet());
            long before = 1L + random.nextInt(ids.size() + 1);
            Damage damage =
                new Damage(
                    drawn(random, ids),
                    random.nextInt(4) == 0 ? drawn(random, log.tables.keySet()) : Set.of());
            Set<Long> moved = new HashSet<>();
            // As long as some are in use or damaged, and then all that are left.
            log.rewriteAll(damage, before, moved);
            log.rewriteAll(Damage.NONE, NO_END, moved);
            Set<Long> expected = new HashSet<>(log.scattered);
            expected.removeAll(log.longRecords);
            assertEquals(expected, moved, log::toString);
          }
        });
  }

  @Test
  void oneJobTakesABoundedNumberOfFiles() {
    requireBounded(/* segments= */ 150, /* records= */ 10, ReclaimPicker.FILES_MAX);
  }

  @Test
  void oneJobTakesABoundedNumberOfRecords() {
    requireBounded(/* segments= */ 6, /* records= */ 900_000, /* filesMax= */ 2);
  }

  private static void requireBounded(int segments, long records, int filesMax) {
    try (BareVersions versions = new BareVersions()) {
      List<SegmentUse> uses = new ArrayList<>();
      for (int i = 0; i < segments; i++) {
        uses.add(new SegmentUse(versions.addSegment(records * 8), records * 8, records));
      }
      versions.set.apply(
          new VersionEdit().addTable(LAST, versions.meta(key(0), key(1), 100, uses)));
      ReclaimPicker picker = new ReclaimPicker(new ReclaimGoal(1.5, 1L << 40, 1L << 40));
      int moved = 0;
      ReclaimPlan plan = scattered(picker, versions, NO_END);
      while (plan != null) {
        assertTrue(plan.files().size() <= filesMax, plan::toString);
        moved += plan.files().size();
        versions.relocate(plan.files(), records * 8 * plan.files().size());
        plan = scattered(picker, versions, NO_END);
      }
      assertEquals(segments, moved);
    }
  }

  /** The fewer files, the fewer places a scan goes on in. One less each, for the relocations. */
  @ParameterizedTest
  @CsvSource({"1.5, 40, 9", "2.5, 40, 29", "1.1, 40, 4", "1.5, 4, 3"})
  void oneJobTakesHalfOfTheGarbageThatThereMayBe(
      double spaceAmplificationMax, int segmentsMax, int files) {
    int segments = 40;
    try (BareVersions versions = new BareVersions()) {
      List<SegmentUse> uses = new ArrayList<>();
      for (int i = 0; i < segments; i++) {
        uses.add(new SegmentUse(versions.addSegment(100_000), 100_000, 10));
      }
      versions.set.apply(
          new VersionEdit().addTable(LAST, versions.meta(key(0), key(1), 100, uses)));
      ReclaimGoal goal =
          new ReclaimGoal(spaceAmplificationMax, /* slackBytes= */ 0, segmentsMax * 100_000L);
      ReclaimPlan plan = scattered(new ReclaimPicker(goal), versions, NO_END);
      assertNotNull(plan);
      assertEquals(files, plan.files().size());
    }
  }

  private static @Nullable ReclaimPlan scattered(
      ReclaimPicker picker, BareVersions versions, long bytesMax) {
    return picker.pickScattered(versions.current(), Damage.NONE, NO_END, id -> true, bytesMax);
  }

  @Test
  void aFileThatIsTooLongForAnyJobIsAJobOfItsOwn() {
    try (BareVersions versions = new BareVersions()) {
      List<SegmentUse> uses = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        uses.add(new SegmentUse(versions.addSegment(8_000), 8_000, 10));
      }
      versions.set.apply(
          new VersionEdit().addTable(LAST, versions.meta(key(0), key(1), 100, uses)));
      ReclaimPicker picker = new ReclaimPicker(new ReclaimGoal(1.5, 1L << 40, 1L << 40));
      ReclaimPlan plan = scattered(picker, versions, /* bytesMax= */ 5_000);
      assertNotNull(plan);
      assertEquals(1, plan.files().size());
    }
  }

  @Test
  void anEmptyStoreHasNothingOutOfOrder() {
    try (BareVersions versions = new BareVersions()) {
      long segment = versions.addSegment(1_000);
      ValueReordering order = ordering(versions);
      order.look(versions.current(), Damage.NONE, () -> false);
      assertFalse(order.isScattered(segment));
      ReclaimPicker picker = new ReclaimPicker(new ReclaimGoal(1.5, 256, 1L << 40));
      assertEquals(Set.of(), picker.orderable(versions.current(), Damage.NONE, NO_END));
      assertNull(scattered(picker, versions, NO_END));
    }
  }

  private static ValueReordering ordering(BareVersions versions) {
    EngineConfig config = Engines.config(versions.storage, new ManualScheduler(1, 1));
    SegmentDirectory segments = new SegmentDirectory();
    Epochs<SlotContext> epochs = new Epochs<>(() -> () -> {});
    LogSpace space =
        new LogSpace(segments, versions.set, new FileRemover(config, epochs, segments));
    return new ValueReordering(config, versions.ledger, space, () -> NO_END);
  }

  private static Set<Long> drawn(Random random, Set<Long> all) {
    Set<Long> drawn = new HashSet<>(all);
    drawn.removeIf(id -> random.nextInt(4) > 0);
    return drawn;
  }

  private static byte[] key(int n) {
    return new byte[] {1, (byte) (n >>> 16), (byte) (n >>> 8), (byte) n};
  }

  /** Segments of values, some written in the order of keys and some not, and tables over them. */
  private static final class Log implements AutoCloseable {
    final Random random;
    final BareVersions versions = new BareVersions();
    final ValueReordering order = ordering(versions);
    final ReclaimPicker picker;
    final long bytesMax;

    /** What is where, as it was written. */
    final TreeMap<Integer, Place> values = new TreeMap<>();

    final Set<Long> scattered = new TreeSet<>();
    final Set<Long> longRecords = new TreeSet<>();

    /** What each table references: records by segment. */
    final Map<Long, Map<Long, Long>> tables = new HashMap<>();

    Log(Random random) throws IOException {
      this.random = random;
      bytesMax = 20_000L + random.nextInt(200_000);
      // Nothing but what the test says bounds the length of a file.
      picker = new ReclaimPicker(new ReclaimGoal(1.5, 1L << 40, 1L << 40));
      int slices = 1 + random.nextInt(8);
      List<Integer> ends = new ArrayList<>();
      for (int i = 0; i < slices; i++) {
        if (random.nextBoolean()) {
          addInOrder();
        } else {
          addScattered(1 + random.nextInt(3));
        }
        ends.add(values.size());
      }
      int first = 0;
      for (int end : ends) {
        // A table ends anywhere, but has enough of each segment to tell.
        if (end == values.size() || random.nextBoolean()) {
          addTable(1 + random.nextInt(LAST), first, end);
          first = end;
        }
      }
    }

    /** One segment; what lies between its values is dead. */
    private void addInOrder() {
      int count = 100 + random.nextInt(200);
      int length = 50 + random.nextInt(1_000);
      int from = values.size();
      List<Long> offsets = new ArrayList<>();
      long end = 32;
      for (int i = 0; i < count; i++) {
        int dead = random.nextInt(5) == 0 ? 50 : random.nextInt(4);
        offsets.add(end + (long) dead * length);
        end = offsets.get(i) + length;
      }
      long segment = versions.addSegment(end);
      for (int i = 0; i < count; i++) {
        values.put(from + i, new Place(segment, offsets.get(i), length));
      }
    }

    /** Some segments, to which the next keys were written in any order. */
    private void addScattered(int segments) {
      boolean areLong = random.nextInt(4) == 0;
      int from = values.size();
      List<Integer> keys = new ArrayList<>();
      for (int i = 0; i < segments * (100 + random.nextInt(100)); i++) {
        keys.add(from + i);
      }
      Collections.shuffle(keys, random);
      for (int i = 0; i < segments; i++) {
        List<Integer> written =
            keys.subList(i * keys.size() / segments, (i + 1) * keys.size() / segments);
        Map<Integer, Long> offsets = new HashMap<>();
        int length = areLong ? LONG_RECORD : 50 + random.nextInt(1_000);
        long end = 32;
        for (int key : written) {
          offsets.put(key, end);
          end += length;
        }
        long segment = versions.addSegment(end);
        scattered.add(segment);
        if (areLong) {
          longRecords.add(segment);
        }
        offsets.forEach((key, offset) -> values.put(key, new Place(segment, offset, length)));
      }
    }

    private void addTable(int level, int first, int end) throws IOException {
      long number = versions.set.newFileNumber();
      Region payload = versions.ledger.allocate(MemoryPurpose.READ, ValuePointer.BYTES_MAX);
      Region keys = versions.ledger.allocate(MemoryPurpose.READ, key(0).length);
      Map<Long, Long> records = new HashMap<>();
      try (TableWriter writer =
          new TableWriter(
              versions.storage.create(StoreFiles.table(number)),
              number,
              TableOptions.defaults(BareVersions.STORE),
              versions.ledger)) {
        for (Map.Entry<Integer, Place> value : values.subMap(first, end).entrySet()) {
          Place place = value.getValue();
          byte[] key = key(value.getKey());
          keys.put(0, key, 0, key.length);
          int length =
              (int)
                  ValuePointer.put(
                      payload,
                      0,
                      place.segment,
                      place.offset,
                      place.length,
                      place.length - key.length);
          writer.add(keys, 0, key.length, Tag.of(1, Tag.POINTER), payload, 0, length);
          records.merge(place.segment, 1L, Long::sum);
        }
        TableMeta meta = writer.finish();
        versions.set.apply(new VersionEdit().addTable(level, meta));
        tables.put(number, records);
      } finally {
        payload.free();
        keys.free();
      }
    }

    /** Carries jobs out until there is none. */
    void rewriteAll(Damage damage, long before, Set<Long> moved) {
      while (true) {
        Set<Long> candidates = picker.orderable(versions.current(), damage, before);
        order.look(versions.current(), damage, () -> false);
        ReclaimPlan plan =
            picker.pickScattered(versions.current(), damage, before, order::isScattered, bytesMax);
        if (plan == null) {
          return;
        }
        requireSound(plan, damage, before);
        for (long file : plan.files()) {
          assertTrue(candidates.contains(file), this::toString);
          assertTrue(moved.add(file), () -> file + " is rewritten again: " + this);
        }
        versions.relocate(plan.segments().keySet(), Math.max(1, bytes(plan.files())));
      }
    }

    private void requireSound(ReclaimPlan plan, Damage damage, long before) {
      Map<Long, Long> live = new HashMap<>();
      values.values().forEach(place -> live.merge(place.segment, 1L, Long::sum));
      live.keySet().retainAll(plan.files());
      assertEquals(live, plan.segments(), "all that lives in the files is taken along");
      assertTrue(plan.files().size() == 1 || bytes(plan.files()) <= bytesMax, this::toString);
      for (long file : plan.files()) {
        assertTrue(scattered.contains(file) && !longRecords.contains(file), this::toString);
        assertTrue(file < before && !damage.segmentFiles().contains(file), this::toString);
        for (long table : damage.tables()) {
          assertFalse(tables.getOrDefault(table, Map.of()).containsKey(file), this::toString);
        }
      }
    }

    /** What lives in some files. */
    private long bytes(Set<Long> files) {
      return values.values().stream()
          .filter(place -> files.contains(place.segment))
          .mapToLong(Place::length)
          .sum();
    }

    @Override
    public void close() {
      versions.close();
    }

    @Override
    public String toString() {
      return "of "
          + versions.current().segments().keySet()
          + " are out of order "
          + scattered
          + ", with long records "
          + longRecords
          + ", as the store has it "
          + versions.current().segments().values();
    }
  }
}
