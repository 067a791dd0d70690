package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.KeyHash;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.NavigableSet;
import java.util.SplittableRandom;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class BloomFilterTest {
  private static final long SEED = Long.getLong("kvsep.seed", 20260101L);

  private final MemoryLedger ledger = new MemoryLedger();
  private final Region key = ledger.allocate(MemoryPurpose.READ, 32);

  @AfterEach
  void freeKey() {
    key.free();
  }

  /** The rates of docs/formats/table.md, in parts of 10,000, for keys that count upwards. */
  @ParameterizedTest
  @CsvSource({
    "10, 1000000, 97",
    "10, 100000, 97",
    "10, 1000, 97",
    "6, 100000, 620",
    "8, 100000, 250",
    "12, 100000, 41",
    "16, 100000, 10"
  })
  void falsePositivesAreAsFrequentAsDocumented(int bitsPerKey, int keyCount, int documented) {
    long length = BloomFilter.sectionBytes(40, keyCount, bitsPerKey);
    Region table = ledger.allocate(MemoryPurpose.TABLE_BUILD, length);
    Region hashes = ledger.allocate(MemoryPurpose.TABLE_BUILD, 8L * keyCount);
    for (int i = 0; i < keyCount; i++) {
      hashes.putLong(8L * i, hash(i));
    }
    BloomFilter.fill(table, 40, hashes, keyCount, bitsPerKey);
    Region file = ledger.allocate(MemoryPurpose.TABLE_BUILD, 40 + length);
    file.put(40, table, 0, length);
    BloomFilter filter =
        BloomFilter.of(new TableBytes("test", file, 0, ColdReadPolicy.WARM), 40, 40 + length);

    long[] line = new long[Region.LINE_LONGS];
    for (int i = 0; i < keyCount; i++) {
      assertTrue(filter.mayContain(hash(i), line));
    }
    int questions = 2_000_000;
    int falsePositives = 0;
    for (int i = keyCount; i < keyCount + questions; i++) {
      if (filter.mayContain(hash(i), line)) {
        falsePositives++;
      }
    }
    table.free();
    hashes.free();
    file.free();

    double rate = 10_000.0 * falsePositives / questions;
    assertEquals(documented, rate, documented * 0.1);
  }

  /**
   * The promise of a whole table with default options: 0.97 % of absent keys, here of random keys.
   * The tolerance of a tenth is ten standard deviations.
   */
  @Test
  void tableReportsAbsentKeysAsOftenAsDocumented() throws IOException {
    SplittableRandom random = new SplittableRandom(SEED);
    NavigableSet<TableFixture.Entry> entries = new TreeSet<>();
    while (entries.size() < 100_000) {
      byte[] bytes = new byte[22];
      random.nextBytes(bytes);
      entries.add(new TableFixture.Entry(bytes, Tag.of(1, Tag.PUT), new byte[0]));
    }
    int questions = 1_000_000;
    int falsePositives = 0;
    try (TableFixture fixture = new TableFixture()) {
      TableMeta meta = fixture.write(1, TableOptions.defaults(TableFixture.STORE), entries);
      try (TableReader table = fixture.open(meta)) {
        byte[] absent = new byte[22];
        for (int i = 0; i < questions; i++) {
          random.nextBytes(absent);
          key.put(0, absent, 0, absent.length);
          if (table.mayContain(KeyHash.of(key, 0, absent.length))) {
            falsePositives++;
          }
        }
      }
    }

    assertEquals(
        9_700,
        falsePositives,
        970,
        () ->
            "seed "
                + SEED
                + ", repeat with: mvn -pl kvsep-core test -Dtest=BloomFilterTest -Dkvsep.seed="
                + SEED);
  }

  private long hash(int i) {
    byte[] bytes = ("vsz=00128-k=" + (10_000_000_000L + i)).getBytes(StandardCharsets.US_ASCII);
    key.put(0, bytes, 0, bytes.length);
    return KeyHash.of(key, 0, bytes.length);
  }
}
