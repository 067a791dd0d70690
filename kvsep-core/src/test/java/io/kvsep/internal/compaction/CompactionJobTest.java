package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.compaction.CompactionFixture.Item;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.RangeTombstones;
import io.kvsep.internal.memtable.Memtable;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Operation;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CancellationException;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What flushes and compactions write, and what they leave behind when they cannot. */
final class CompactionJobTest {
  @Test
  void mergedTablesHoldWhatTheFilterKeeps() {
    Seeds.run(getClass(), "mergedTablesHoldWhatTheFilterKeeps", 1, 40, this::merge);
  }

  private void merge(long seed) {
    Random random = new Random(seed);
    try (CompactionFixture store = new CompactionFixture()) {
      Set<Item> all = fill(store, random);
      boolean keepAll = random.nextBoolean();
      store.boundaries =
          keepAll
              ? all.stream().mapToLong(Item::sequence).sorted().toArray()
              : new long[] {random.nextInt(50), 1_000_000};
      CompactionPlan plan = pick(store);
      List<Item> inputs = new ArrayList<>();
      plan.tables().forEach(table -> inputs.addAll(store.items(table)));
      VersionEdit edit = CompactionJob.run(store.context(), plan);
      assertFalse(plan.move());
      store.versions.apply(edit);
      List<Item> expected = expected(store, plan, inputs);
      assertEquals(expected, store.level(plan.outputLevel()));
      assertEquals(0, store.versions.current().level(0).size());
      checkTables(store, store.versions.current().level(plan.outputLevel()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Two tables in level 0 over three in level 6, and one in level 6 that is not touched. */
  private static Set<Item> fill(CompactionFixture store, Random random) throws IOException {
    TreeSet<Item> all = new TreeSet<>();
    long sequence = 1;
    for (String range : List.of("a", "b", "c")) {
      TreeSet<Item> items = new TreeSet<>();
      for (int i = 0; i < 30; i++) {
        items.add(item(random, range, sequence++));
      }
      all.addAll(items);
      store.add(6, items);
    }
    for (int table = 0; table < 2; table++) {
      TreeSet<Item> items = new TreeSet<>();
      items.add(Item.put("a0", sequence++));
      items.add(Item.put("cz", sequence++));
      for (int i = 0; i < 40; i++) {
        items.add(item(random, List.of("a", "b", "c").get(random.nextInt(3)), sequence++));
      }
      all.addAll(items);
      store.add(0, items);
    }
    return all;
  }

  private static Item item(Random random, String range, long sequence) {
    String key = range + random.nextInt(20);
    return switch (random.nextInt(5)) {
      case 0 -> Item.delete(key, sequence);
      case 1 -> Item.expiring(key, sequence, 900 + random.nextInt(200));
      default -> Item.put(key, sequence);
    };
  }

  /** What is due by its level: no table is for what it hides, while a snapshot reads before all. */
  private static CompactionPlan pick(CompactionFixture store) {
    CompactionPlan plan =
        new CompactionPicker(store.config)
            .pick(
                store.versions.current(),
                Set.of(),
                Set.of(),
                store.nowMillis,
                /* oldestReader= */ 0);
    assertTrue(plan != null);
    return plan;
  }

  private static List<Item> expected(
      CompactionFixture store, CompactionPlan plan, List<Item> inputs) {
    Memtable memtable = store.memtable(new TreeSet<>(inputs));
    List<Item> expected = new ArrayList<>();
    try (InternalIterator iterator = memtable.iterator();
        VersionFilter filter =
            new VersionFilter(
                store.boundaries,
                plan.bottom(),
                store.nowMillis,
                RangeTombstones.NONE,
                store.ledger)) {
      List<Item> sorted = CompactionFixture.items(memtable.iterator());
      iterator.seekToFirst();
      for (Item item : sorted) {
        switch (filter.judge(iterator)) {
          case KEEP -> expected.add(item);
          case KEEP_AS_TOMBSTONE -> expected.add(Item.delete(item.key(), item.sequence()));
          case DROP -> {}
        }
        iterator.next();
      }
    }
    memtable.free();
    return expected;
  }

  private static void checkTables(CompactionFixture store, List<TableFile> tables) {
    assertTrue(tables.size() > 1);
    String lastKey = "";
    for (TableFile table : tables) {
      List<Item> items = store.items(table);
      assertEquals(items.size(), table.meta().entryCount());
      // No key goes on in the next table.
      assertTrue(items.get(0).key().compareTo(lastKey) > 0);
      lastKey = items.get(items.size() - 1).key();
    }
  }

  @Test
  void moveChangesTheLevelAndReadsNothing() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> items = List.of(Item.put("a", 2), Item.delete("b", 1));
      store.add(0, items);
      store.add(0, List.of(Item.put("x", 3)));
      CompactionPlan plan = pick(store);
      assertTrue(plan.move());
      store.storage.clearTrace();
      VersionEdit edit = CompactionJob.run(store.context(), plan);
      assertEquals(List.of(), store.storage.trace());
      store.versions.apply(edit);
      assertEquals(items, store.level(6));
      assertEquals(List.of(Item.put("x", 3)), store.level(0));
    }
  }

  @Test
  void nothingIsWrittenWhenNothingIsWorthKeeping() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      assertEquals(List.of(), store.flush(List.of()));
      store.add(0, List.of(Item.delete("a", 2), Item.expiring("b", 1, 500)));
      store.add(0, List.of(Item.delete("a", 4), Item.delete("b", 3)));
      VersionEdit edit = CompactionJob.run(store.context(), pick(store));
      assertEquals(List.of(), edit.addedTables());
      assertEquals(2, edit.removedTables().size());
      store.versions.apply(edit);
      assertEquals(List.of(), store.tableFiles());
    }
  }

  @Test
  void flushKeepsTombstonesAndTurnsWhatHasExpiredIntoThem() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<TableMeta> metas =
          store.flush(
              List.of(
                  Item.delete("a", 5),
                  Item.put("a", 4),
                  Item.expiring("b", 3, 1000),
                  Item.expiring("c", 2, 1001),
                  Item.put("d", 1)));
      assertEquals(1, metas.size());
      VersionEdit edit = new VersionEdit();
      metas.forEach(meta -> edit.addTable(0, meta));
      store.versions.apply(edit);
      assertEquals(
          List.of(
              Item.delete("a", 5),
              Item.delete("b", 3),
              Item.expiring("c", 2, 1001),
              Item.put("d", 1)),
          store.level(0));
      assertEquals(2, metas.get(0).tombstoneCount());
    }
  }

  @Test
  void outputIsDurableWhenTheJobReturns() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      fill(store, new Random(1));
      store.boundaries = new long[] {1_000_000};
      VersionEdit edit = CompactionJob.run(store.context(), pick(store));
      assertTrue(edit.addedTables().size() > 1);
      List<String> written = store.tableFiles();
      CrashableStorage after = store.storage.crashSyncedOnly();
      for (String name : written) {
        assertTrue(Arrays.equals(store.storage.contents(name), after.contents(name)));
      }
    }
  }

  @Test
  void failureOfAnyOperationOfAFlushLeavesNoFile() throws IOException {
    for (Fault fault : Fault.values()) {
      boolean failed = true;
      for (int nth = 1; failed; nth++) {
        try (CompactionFixture store = new CompactionFixture()) {
          TreeSet<Item> items = new TreeSet<>();
          for (int i = 0; i < 200; i++) {
            items.add(Item.put("key" + i, i + 1));
          }
          store.storage.failAt(nth, fault, false, operation -> operation != Operation.LIST);
          failed = failsLeavingNothing(store, () -> store.flush(items));
          store.storage.clearFaults();
          assertEquals(1, failed ? store.flush(items).size() : store.tableFiles().size());
        }
        assertTrue(nth < 50);
      }
    }
  }

  private interface Job {
    void run() throws IOException;
  }

  /** Whether the job failed; if so, checks that it left everything as it was. */
  private static boolean failsLeavingNothing(CompactionFixture store, Job job) throws IOException {
    List<String> files = store.tableFiles();
    long bytes = store.ledger.totalBytes() - keyBytes(store);
    boolean failed = false;
    try {
      job.run();
    } catch (IOException | StorageException e) {
      failed = true;
      assertEquals(files, store.tableFiles());
    }
    assertEquals(bytes, store.ledger.totalBytes() - keyBytes(store), "bytes that are left");
    assertEquals(
        List.of(), store.storage.openFiles().stream().filter(n -> n.endsWith(".sst")).toList());
    return failed;
  }

  /** Each table that was entered keeps the key memory of its last iterator. */
  private static long keyBytes(CompactionFixture store) {
    long bytes = 0;
    for (int level = 0; level < Version.LEVELS; level++) {
      bytes +=
          64 * store.versions.current().level(level).stream().filter(TableFile::isOpen).count();
    }
    return bytes;
  }

  @Test
  void failureOfAnyOperationOfACompactionLeavesNoFileAndKeepsTheInputs() throws IOException {
    for (Fault fault : Fault.values()) {
      boolean failed = true;
      int nth = 1;
      for (; failed; nth++) {
        try (CompactionFixture store = new CompactionFixture()) {
          fill(store, new Random(7));
          store.boundaries = new long[] {1_000_000};
          CompactionPlan plan = pick(store);
          Version before = store.versions.current();
          store.storage.failAt(nth, fault, false, operation -> operation != Operation.LIST);
          failed = failsLeavingNothing(store, () -> CompactionJob.run(store.context(), plan));
          store.storage.clearFaults();
          if (failed) {
            assertEquals(before, store.versions.current());
            List<Item> inputs = new ArrayList<>();
            plan.tables().forEach(table -> inputs.addAll(store.items(table)));
            // The same plan can be carried out after all.
            store.versions.apply(CompactionJob.run(store.context(), plan));
            assertEquals(expected(store, plan, inputs), store.level(6));
          }
        }
        assertTrue(nth < 200);
      }
      // Five inputs are opened, and several tables written, synced and named.
      assertTrue(nth > 15);
    }
  }

  @Test
  void fileThatCannotBeDeletedAfterAFailureIsLeftToTheNextOpen() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      List<Item> items = List.of(Item.put("a", 1));
      store.storage.failAt(2, Fault.EIO, /* sticky= */ true);
      assertThrows(IOException.class, () -> store.flush(items));
      store.storage.clearFaults();
      assertEquals(1, store.tableFiles().size());
      assertEquals(0, store.storage.openFiles().stream().filter(n -> n.endsWith(".sst")).count());
      assertEquals(1, store.flush(items).size());
    }
  }

  @Test
  void cancelledJobLeavesNoFile() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      TreeSet<Item> items = new TreeSet<>();
      for (int i = 0; i < 5000; i++) {
        items.add(Item.put("key" + i, i + 1));
      }
      AtomicInteger asked = new AtomicInteger();
      store.cancelled = () -> asked.incrementAndGet() == 3;
      long bytes = store.ledger.totalBytes();
      assertThrows(CancellationException.class, () -> store.flush(items));
      assertEquals(List.of(), store.tableFiles());
      assertEquals(bytes, store.ledger.totalBytes());
      store.cancelled = () -> false;
      assertEquals(5000, store.flush(items).get(0).entryCount());
    }
  }

  @Test
  void rewriteInPlaceDropsInvisibleVersions() throws IOException {
    try (CompactionFixture store = new CompactionFixture()) {
      store.add(6, List.of(Item.delete("a", 3), Item.put("a", 1), Item.put("b", 2)));
      CompactionPlan plan =
          new CompactionPicker(store.config)
              .pickRewrite(
                  store.versions.current(),
                  new byte[0],
                  Set.of(),
                  table -> table.meta().tombstoneCount() > 0);
      assertTrue(plan != null);
      store.versions.apply(CompactionJob.run(store.context(), plan));
      assertEquals(List.of(Item.put("b", 2)), store.level(6));
      assertEquals(Tag.PUT, store.level(6).get(0).kind());
    }
  }
}
