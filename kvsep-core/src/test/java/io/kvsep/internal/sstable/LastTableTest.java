package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.Seeds;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Lookups in a table below which there is none, whose filter is not asked as long as all hit. */
final class LastTableTest {
  private static final int KEYS = 5_000;

  private final TableFixture fixture = new TableFixture();
  private final List<Entry> entries = new ArrayList<>();
  private TableMeta meta;
  private TableReader table;

  @BeforeEach
  void write() throws IOException {
    for (int i = 0; i < KEYS; i++) {
      entries.add(TableFixture.put(name(i), 1 + i, "value " + i + "-".repeat(40)));
    }
    // Each lookup that gets as far as a block is counted, since blocks are packed.
    meta = fixture.write(1, TableFixture.options(1024, 4, true), entries);
    table = fixture.open(meta);
  }

  @AfterEach
  void everythingIsGivenBack() {
    table.close();
    fixture.close();
  }

  @Test
  void keysAreFoundAndAbsentOnesAreNotInWhateverOrder() {
    Seeds.each(getClass(), 5, this::look);
  }

  private void look(Random random) {
    int hits = 0;
    for (int series = 0; series < 60; series++) {
      int length = random.nextInt(random.nextBoolean() ? 5 : 600);
      boolean present = random.nextBoolean();
      for (int i = 0; i < length; i++) {
        int key = random.nextInt(KEYS);
        // A version that is too new for the reader is absent as well.
        boolean tooNew = !present && random.nextBoolean();
        String name = present || tooNew ? name(key) : name(key) + "a";
        long seekTag = tooNew ? Tag.seek(key) : Tag.MAX;
        boolean found = fixture.getLast(table, TableFixture.bytes(name), seekTag);
        assertEquals(present, found, name);
        if (found) {
          assertEquals(entries.get(key).tag(), fixture.lookup.tag);
          assertArrayEquals(entries.get(key).payload(), fixture.found());
          hits++;
        }
      }
    }
    assertTrue(hits > 500, "hits: " + hits);
  }

  @Test
  void ofManyAbsentKeysHardlyOneCostsASearch() {
    hit(1_000);
    assertEquals(1_000, searches(() -> hit(1_000)));
    assertEquals(1, searches(this::missOneThatTheFilterDenies));
    assertEquals(0, searches(this::missOneThatTheFilterDenies));
    // The filter lets a hundredth through.
    long searches = searches(() -> miss(10_000));
    assertTrue(searches < 200, "searches: " + searches);
  }

  @Test
  void aDamagedBlockMakesNoKeyUnreadableThatTheFilterDenies() throws IOException {
    byte[] bytes = fixture.storage.contents(StoreFiles.table(1));
    bytes[TableFormat.HEADER_BYTES + 30] ^= 1;
    fixture.storage.replace(StoreFiles.table(1), bytes);
    TableReader sound = table;
    table = fixture.open(meta);
    sound.close();
    for (int i = 0; i < 300; i++) {
      byte[] elsewhere = TableFixture.bytes(name(KEYS - 1 - i));
      assertTrue(fixture.getLast(table, elsewhere, Tag.MAX));
    }
    assertTrue(fixture.lookup.expectsHit());
    missOneThatTheFilterDenies();
    assertFalse(fixture.lookup.expectsHit());
    byte[] inside = TableFixture.bytes(name(0));
    assertThrows(CorruptionException.class, () -> fixture.getLast(table, inside, Tag.MAX));
  }

  @Test
  void aDamagedFilterIsFoundByThoseThatAskIt() throws IOException {
    byte[] bytes = fixture.storage.contents(StoreFiles.table(1));
    bytes[filterAt(bytes) + 200] ^= 1;
    fixture.storage.replace(StoreFiles.table(1), bytes);
    TableReader sound = table;
    table = fixture.open(meta);
    sound.close();
    hit(1_000);
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      iterator.seekToFirst();
      for (Entry entry : entries) {
        TableFixture.assertSame(entry, TableFixture.current(iterator));
        iterator.next();
      }
      assertFalse(iterator.isValid());
    }
    byte[] present = TableFixture.bytes(name(1));
    byte[] absent = TableFixture.bytes(name(1) + "y");
    assertThrows(CorruptionException.class, () -> fixture.get(table, present, Tag.MAX));
    assertThrows(CorruptionException.class, () -> fixture.getLast(table, absent, Tag.MAX));
    hit(1_000);
  }

  private static int filterAt(byte[] table) {
    return ByteBuffer.wrap(table)
        .order(ByteOrder.LITTLE_ENDIAN)
        .getInt(table.length - TableFormat.FOOTER_BYTES + TableFormat.FOOTER_FILTER);
  }

  /** It lies in the first block. */
  private void missOneThatTheFilterDenies() {
    int i = 0;
    byte[] key;
    do {
      key = TableFixture.bytes(name(0) + "y" + i++);
    } while (isPossible(key));
    assertFalse(fixture.getLast(table, key, Tag.MAX));
  }

  private boolean isPossible(byte[] key) {
    Region region = fixture.region(key);
    try {
      return table.mayContain(KeyHash.of(region, 1, key.length));
    } finally {
      region.free();
    }
  }

  @Test
  void aFewAbsentKeysAmongManyAreNotSearchedForEither() {
    hit(1_000);
    long hits = 100 * 99;
    long searches =
        searches(
            () -> {
              for (int i = 0; i < 100; i++) {
                hit(99);
                miss(1);
              }
            });
    assertTrue(searches <= hits + 10, "searches: " + searches);
  }

  private void hit(int times) {
    for (int i = 0; i < times; i++) {
      assertTrue(fixture.getLast(table, TableFixture.bytes(name(i * 7 % KEYS)), Tag.MAX));
    }
  }

  private void miss(int times) {
    for (int i = 0; i < times; i++) {
      byte[] key = TableFixture.bytes(name(i * 7 % KEYS) + "x" + i);
      assertFalse(fixture.getLast(table, key, Tag.MAX));
    }
  }

  private long searches(Runnable lookups) {
    long before = fixture.lookup.packedReads();
    lookups.run();
    return fixture.lookup.packedReads() - before;
  }

  private static String name(int i) {
    return String.format("key-%06d", i);
  }
}
