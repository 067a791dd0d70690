package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** Versions made for a choice. The tables have no files: nothing is read to choose. */
abstract class PickerFixture {
  private static final StoreId STORE = new StoreId(3, 4);

  private final MemoryLedger ledger = new MemoryLedger();
  final VersionSet versions;
  final CompactionConfig config =
      new CompactionConfig(4, 1000, 500, 0.25, 100, new TableOptions(256, 4, 10, true, STORE));
  final CompactionPicker picker = new CompactionPicker(config);

  PickerFixture() throws IOException {
    versions =
        VersionSet.create(
            new CrashableStorage(), STORE, ledger, (tables, segments) -> {}, Readers.unbounded());
  }

  @AfterEach
  final void nothingIsLeft() {
    versions.close();
    assertEquals(0, ledger.totalBytes());
  }

  /** Adds a table without values; its number. */
  final long table(int level, String smallest, String largest, long bytes) {
    return table(level, smallest, largest, bytes, 1, 0, 0);
  }

  /** Adds a table that references {@code records} records of so many bytes together. */
  final long table(
      int level,
      String smallest,
      String largest,
      long bytes,
      long entries,
      long records,
      long valueBytes) {
    List<SegmentUse> uses =
        records == 0 ? List.of() : List.of(new SegmentUse(1, valueBytes, records));
    if (versions.current().segments().isEmpty()) {
      versions.apply(new VersionEdit().addSegment(1));
    }
    long number = versions.newFileNumber();
    TableMeta meta =
        new TableMeta(
            number,
            bytes,
            smallest.getBytes(StandardCharsets.UTF_8),
            largest.getBytes(StandardCharsets.UTF_8),
            number,
            number,
            entries,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            uses);
    versions.apply(new VersionEdit().addTable(level, meta));
    return number;
  }

  final @Nullable CompactionPlan pick(long... busy) {
    return picker.pick(versions.current(), files(busy), Set.of(), 0, Long.MAX_VALUE);
  }

  final CompactionPlan picked(long... busy) {
    CompactionPlan plan = pick(busy);
    assertTrue(plan != null);
    return plan;
  }

  final Set<TableFile> files(long... numbers) {
    Set<Long> wanted = Arrays.stream(numbers).boxed().collect(Collectors.toSet());
    Set<TableFile> files = new HashSet<>();
    for (int level = 0; level < Version.LEVELS; level++) {
      for (TableFile file : versions.current().level(level)) {
        if (wanted.contains(file.meta().number())) {
          files.add(file);
        }
      }
    }
    assertEquals(wanted.size(), files.size());
    return files;
  }

  static Set<Long> numbers(List<TableFile> tables) {
    return tables.stream().map(table -> table.meta().number()).collect(Collectors.toSet());
  }

  static void assertPlan(
      CompactionPlan plan, int from, int to, Set<Long> inputs, Set<Long> overlaps) {
    assertEquals(from, plan.inputLevel());
    assertEquals(to, plan.outputLevel());
    assertEquals(inputs, numbers(plan.inputs()));
    assertEquals(overlaps, numbers(plan.overlaps()));
    assertEquals(inputs.size() + overlaps.size(), plan.tables().size());
  }
}
