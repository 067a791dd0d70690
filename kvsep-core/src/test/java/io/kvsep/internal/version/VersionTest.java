package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableMeta;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Searches in a version against a look at every table, and who holds which files how long. */
final class VersionTest {
  private final MemoryLedger ledger = new MemoryLedger();

  @Test
  void searchesFindWhatALookAtEveryTableFinds() {
    Seeds.each(
        getClass(),
        150,
        random -> {
          try (VersionSet set = newSet((tables, segments) -> {})) {
            for (int round = 0; round < 6; round++) {
              set.apply(randomChange(random, set));
              checkSearches(random, set.current());
            }
          }
          assertEquals(0, ledger.totalBytes());
        });
  }

  @Test
  void aTableKeepsItsIdentityWhenItMoves() throws Exception {
    byte[] key = {1};
    TableMeta meta = FileSetModel.meta(5, key, key);
    List<TableFile> gone = new ArrayList<>();
    try (VersionSet set = newSet((tables, segments) -> gone.addAll(tables))) {
      set.apply(new VersionEdit().addTable(0, meta));
      TableFile table = set.current().level(0).get(0);
      set.apply(new VersionEdit().removeTable(0, 5).addTable(3, meta));

      assertSame(table, set.current().level(3).get(0));
      assertEquals(List.of(), gone);
      assertFalse(table.isOpen());
    }
  }

  @Test
  void aVersionThatDiedStaysDead() throws Exception {
    try (VersionSet set = newSet((tables, segments) -> {})) {
      Version version = set.current();
      assertTrue(version.tryRetain());
      set.apply(new VersionEdit().lastSequence(1));
      assertTrue(version.tryRetain());
      version.release();
      version.release();
      assertFalse(version.tryRetain());
      assertThrows(IllegalStateException.class, version::release);
    }
  }

  @Test
  void noFileOfARetainedVersionIsReportedUnderRacesAndEachIsReportedOnce() throws Exception {
    Set<Long> dead = ConcurrentHashMap.newKeySet();
    Set<Long> twice = ConcurrentHashMap.newKeySet();
    ObsoleteFiles listener =
        (tables, segments) ->
            tables.stream()
                .map(table -> table.meta().number())
                .filter(number -> !dead.add(number))
                .forEach(twice::add);
    int edits = 3000;
    ExecutorService threads = Executors.newFixedThreadPool(3);
    try (VersionSet set = newSet(listener)) {
      CountDownLatch done = new CountDownLatch(1);
      List<Future<Integer>> readers = new ArrayList<>();
      for (int i = 0; i < 3; i++) {
        readers.add(threads.submit(() -> readUntil(done, set, dead)));
      }
      byte[] key = {1};
      for (int i = 1; i <= edits; i++) {
        VersionEdit edit = new VersionEdit().addTable(1, FileSetModel.meta(i, key, key));
        set.apply(i == 1 ? edit : edit.removeTable(1, i - 1));
      }
      done.countDown();
      for (Future<Integer> reader : readers) {
        assertTrue(reader.get() > 0);
      }
      assertEquals(Set.of(), twice);
      assertEquals(edits - 1, dead.size());
    } finally {
      threads.shutdownNow();
    }
  }

  private static int readUntil(CountDownLatch done, VersionSet set, Set<Long> dead) {
    int reads = 0;
    do {
      Version version = set.current();
      if (version.tryRetain()) {
        for (TableFile table : version.tables(1)) {
          assertFalse(dead.contains(table.meta().number()));
          Thread.onSpinWait();
          assertFalse(dead.contains(table.meta().number()));
        }
        version.release();
        reads++;
      }
    } while (done.getCount() > 0);
    return reads;
  }

  private VersionSet newSet(ObsoleteFiles listener) throws Exception {
    return VersionSet.create(
        new CrashableStorage(), new StoreId(1, 2), ledger, listener, Readers.unbounded());
  }

  /** Takes some tables of levels 0 and 1 away and fills gaps of level 1 anew. */
  private static VersionEdit randomChange(Random random, VersionSet set) {
    VersionEdit edit = new VersionEdit();
    TreeSet<byte[]> ends = new TreeSet<>(Arrays::compareUnsigned);
    int beginning = random.nextInt(3) * 5;
    for (int i = random.nextInt(60); i >= 0; i--) {
      ends.add(randomKey(random, beginning));
    }
    Set<TableFile> removed = new HashSet<>();
    for (int level = 0; level < 2; level++) {
      for (TableFile table : set.current().level(level)) {
        if (random.nextInt(3) == 0) {
          edit.removeTable(level, table.meta().number());
          removed.add(table);
        }
      }
    }
    List<byte[]> keys = new ArrayList<>(ends);
    for (int i = 0; i < keys.size(); ) {
      byte[] smallest = keys.get(i++);
      byte[] largest = random.nextBoolean() && i < keys.size() ? keys.get(i++) : smallest;
      long number = set.newFileNumber();
      TableMeta meta = FileSetModel.meta(number, smallest, largest);
      if (random.nextInt(8) == 0) {
        edit.addTable(0, meta);
      } else if (removed.containsAll(set.current().overlapping(1, smallest, largest))) {
        edit.addTable(1, meta);
      }
    }
    return edit;
  }

  private static byte[] randomKey(Random random, int beginning) {
    byte[] key = new byte[1 + beginning + random.nextInt(11)];
    for (int i = beginning; i < key.length; i++) {
      key[i] = (byte) (random.nextInt(3) * 127);
    }
    return key;
  }

  private void checkSearches(Random random, Version version) {
    Region region = ledger.allocate(MemoryPurpose.READ, 100);
    for (int i = 0; i < 200; i++) {
      byte[] key = randomKey(random, random.nextInt(3) * 5);
      byte[] other = randomKey(random, random.nextInt(3) * 5);
      region.put(3, key, 0, key.length);
      TableFile found = version.find(1, region, 3, key.length);
      List<TableFile> expected = slowly(version, 1, key, key);
      if (expected.isEmpty()) {
        assertNull(found);
      } else {
        assertSame(expected.get(0), found);
      }
      assertNull(version.find(2, region, 3, key.length));
      boolean ordered = Arrays.compareUnsigned(key, other) <= 0;
      byte[] smallest = ordered ? key : other;
      byte[] largest = ordered ? other : key;
      for (int level = 0; level < 3; level++) {
        assertEquals(
            slowly(version, level, smallest, largest),
            version.overlapping(level, smallest, largest));
      }
    }
    region.free();
  }

  private static List<TableFile> slowly(
      Version version, int level, byte[] smallest, byte[] largest) {
    return version.level(level).stream()
        .filter(table -> Arrays.compareUnsigned(table.meta().smallestKey(), largest) <= 0)
        .filter(table -> Arrays.compareUnsigned(table.meta().largestKey(), smallest) >= 0)
        .toList();
  }
}
