package io.kvsep.internal.version;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableOptions;
import io.kvsep.internal.sstable.TableWriter;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Fault;
import io.kvsep.testing.Readers;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Random walks over the tables of a level against a sorted set of all their entries. */
final class LevelIteratorTest {
  private static final StoreId STORE = new StoreId(5, 6);

  private final MemoryLedger ledger = new MemoryLedger();
  private final CrashableStorage storage = new CrashableStorage();

  private record Entry(int key, long tag) implements Comparable<Entry> {
    @Override
    public int compareTo(Entry other) {
      return key != other.key ? Integer.compare(key, other.key) : Long.compare(other.tag, tag);
    }
  }

  @Test
  void walksAsOneIteratorOverAllEntriesWould() {
    Seeds.each(getClass(), 100, this::walk);
  }

  @Test
  void anEmptyLevelHasNoEntry() {
    LevelIterator iterator = new LevelIterator(new TableFile[0], ledger);
    iterator.seekToFirst();
    assertFalse(iterator.isValid());
    iterator.seekToLast();
    assertFalse(iterator.isValid());
    iterator.close();
  }

  @Test
  void opensOnlyTheTablesItGetsTo() throws Exception {
    TreeSet<Entry> entries = new TreeSet<>();
    for (int i = 0; i < 40; i++) {
      entries.add(new Entry(i, Tag.of(1, Tag.DELETE)));
    }
    TableFile[] tables = tables(new Random(1), entries);
    LevelIterator iterator = new LevelIterator(tables, ledger);
    assertEquals(0, Arrays.stream(tables).filter(TableFile::isOpen).count());
    iterator.seekToFirst();
    assertEquals(1, Arrays.stream(tables).filter(TableFile::isOpen).count());
    iterator.close();
    close(tables);
    assertThrows(StoreClosedException.class, () -> tables[0].reader());
  }

  @Test
  void aTableThatCannotBeOpenedIsTriedAgain() throws Exception {
    TreeSet<Entry> entries = new TreeSet<>(List.of(new Entry(1, Tag.of(1, Tag.DELETE))));
    TableFile[] tables = tables(new Random(1), entries);
    storage.failNext(Fault.EIO);
    assertThrows(StorageException.class, () -> tables[0].reader());
    assertFalse(tables[0].isOpen());
    tables[0].reader();
    close(tables);
  }

  private void walk(Random random) throws Exception {
    TreeSet<Entry> entries = new TreeSet<>();
    int keys = 1 + random.nextInt(60);
    for (int i = 0; i < 120; i++) {
      entries.add(new Entry(2 * random.nextInt(keys), Tag.of(1 + i, Tag.DELETE)));
    }
    TableFile[] tables = tables(random, entries);
    Region key = ledger.allocate(MemoryPurpose.READ, 8);
    LevelIterator iterator = new LevelIterator(tables, ledger);
    Entry expected = null;
    for (int i = 0; i < 400; i++) {
      Entry target = new Entry(random.nextInt(2 * keys + 2), Tag.of(random.nextInt(130), 0xff));
      key.put(2, FileSetModel.key(target.key), 0, 4);
      int step = random.nextInt(expected == null ? 4 : 24);
      if (step == 0) {
        iterator.seekToFirst();
        expected = entries.first();
      } else if (step == 1) {
        iterator.seekToLast();
        expected = entries.last();
      } else if (step == 2) {
        iterator.seek(key, 2, 4, target.tag);
        expected = entries.ceiling(target);
      } else if (step == 3) {
        iterator.seekBefore(key, 2, 4, target.tag);
        expected = entries.lower(target);
      } else if (step % 2 == 0) {
        iterator.next();
        expected = entries.higher(current(expected));
      } else {
        iterator.previous();
        expected = entries.lower(current(expected));
      }
      assertEquals(expected != null, iterator.isValid());
      if (expected != null) {
        assertEquals(expected, entry(iterator));
      }
    }
    iterator.close();
    key.free();
    close(tables);
    assertEquals(0, ledger.totalBytes());
  }

  private static Entry current(@Nullable Entry entry) {
    if (entry == null) {
      throw new AssertionError("a step from nowhere");
    }
    return entry;
  }

  private static Entry entry(InternalIterator iterator) {
    byte[] key = iterator.keyRegion().getBytes(iterator.keyOffset(), iterator.keyLength());
    return new Entry(ByteBuffer.wrap(key).getInt(), iterator.tag());
  }

  /** Cuts the entries between keys into tables of a few entries. */
  private TableFile[] tables(Random random, TreeSet<Entry> entries) throws IOException {
    for (String name : storage.list()) {
      storage.delete(name);
    }
    List<TableFile> tables = new ArrayList<>();
    List<Entry> rest = new ArrayList<>(entries);
    int from = 0;
    while (from < rest.size()) {
      int limit = Math.min(rest.size(), from + 1 + random.nextInt(20));
      while (limit < rest.size() && rest.get(limit).key == rest.get(limit - 1).key) {
        limit++;
      }
      tables.add(table(tables.size() + 1, rest.subList(from, limit)));
      from = limit;
    }
    return tables.toArray(new TableFile[0]);
  }

  private TableFile table(long number, List<Entry> entries) throws IOException {
    Region region = ledger.allocate(MemoryPurpose.READ, 8);
    try (TableWriter writer =
        new TableWriter(
            storage.create(StoreFiles.table(number)),
            number,
            TableOptions.defaults(STORE),
            ledger)) {
      for (Entry entry : entries) {
        region.put(0, FileSetModel.key(entry.key), 0, 4);
        writer.add(region, 0, 4, entry.tag, region, 4, 0);
      }
      return new TableFile(writer.finish(), storage, STORE, Readers.unbounded());
    } finally {
      region.free();
    }
  }

  private static void close(TableFile[] tables) {
    for (TableFile table : tables) {
      table.close();
    }
  }
}
