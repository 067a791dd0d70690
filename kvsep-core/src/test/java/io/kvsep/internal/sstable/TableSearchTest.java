package io.kvsep.internal.sstable;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.CrashableStorage;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Each entry of a table that has lost its index is found, or lies where blocks are missing. */
final class TableSearchTest {
  private static final int ENTRIES = 60;

  private final TableFixture fixture = new TableFixture();

  /** Blocks found, places that looked like the end of one, and checksums on their account. */
  private int pulses;

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  private byte[] table(boolean packsBlocks, TreeSet<Entry> entries) throws IOException {
    for (int i = 0; i < ENTRIES; i++) {
      String key = "key-" + (char) ('0' + i) + "x".repeat(i % 7);
      entries.add(TableFixture.put(key, 1 + i, "value ".repeat(1 + i % 9)));
    }
    CrashableStorage storage = new CrashableStorage();
    fixture.write(storage, 1, TableFixture.options(128, 4, packsBlocks), entries);
    return storage.contents(StoreFiles.table(1));
  }

  @Test
  void aTableCutAnywhereIsFoundUpToThereAndTheRestIsCalledLost() throws IOException {
    for (boolean packsBlocks : List.of(false, true)) {
      TreeSet<Entry> entries = new TreeSet<>();
      byte[] table = table(packsBlocks, entries);
      Set<Integer> found = new HashSet<>();
      for (int length = 1; length < table.length; length++) {
        found.add(check(Arrays.copyOf(table, length), entries));
      }
      assertTrue(found.size() > 10, () -> "cut between blocks: " + found);
      assertTrue(found.contains(0) && found.contains(ENTRIES), found::toString);
    }
  }

  @Test
  void aByteThatIsWrongCostsTheBlockItIsIn() throws IOException {
    for (boolean packsBlocks : List.of(false, true)) {
      TreeSet<Entry> entries = new TreeSet<>();
      byte[] table = table(packsBlocks, entries);
      // Without its end, so that the index is gone.
      byte[] cut = Arrays.copyOf(table, table.length - 1);
      for (int at = 0; at < cut.length; at += 7) {
        byte[] wrong = cut.clone();
        wrong[at] ^= 0x10;
        int found = check(wrong, entries);
        assertTrue(ENTRIES - found <= 12, "wrong at " + at + ": " + found);
      }
    }
  }

  /** Neither a long block in the way nor a long piece that is lost ends the search. */
  @Test
  void whatIsBehindALongGapIsFound() throws IOException {
    TreeSet<Entry> entries = new TreeSet<>();
    for (int i = 0; i < 1_000; i++) {
      String value = i == 300 ? "long".repeat(16 << 10) : "value " + i;
      entries.add(TableFixture.put("key-" + (1_000 + i), 1 + i, value));
    }
    CrashableStorage storage = new CrashableStorage();
    fixture.write(storage, 1, TableFixture.options(2048, 4, false), entries);
    byte[] table = storage.contents(StoreFiles.table(1));
    byte[] cut = Arrays.copyOf(table, table.length - 1);
    assertEquals(1_000, check(cut, entries));
    Arrays.fill(cut, 3_000, 3_000 + (70 << 10), (byte) 0x55);
    int found = check(cut, entries);
    assertTrue(found > 400 && found < 1_000, "found " + found);
  }

  /** Much of an index looks like the ends of blocks, with none behind the last. */
  @Test
  void aWrongByteInTheFooterDoesNotMakeTheSearchLong() throws IOException {
    for (boolean packsBlocks : List.of(false, true)) {
      Random random = new Random(11);
      TreeSet<Entry> entries = new TreeSet<>();
      for (int i = 0; i < 20_000; i++) {
        byte[] key = new byte[8];
        random.nextBytes(key);
        entries.add(new Entry(key, Tag.of(1 + i, Tag.PUT), "value ".repeat(5).getBytes(UTF_8)));
      }
      CrashableStorage storage = new CrashableStorage();
      fixture.write(storage, 1, TableFixture.options(512, 16, packsBlocks), entries);
      byte[] table = storage.contents(StoreFiles.table(1));
      table[table.length - 5] ^= 1;

      assertEquals(entries.size(), check(table, entries));
      int blocks = 20_000 / 12;
      assertTrue(pulses < 5 * blocks, () -> pulses + " looks");
    }
  }

  /** How many entries of a damaged table are found; those that are not have to be called lost. */
  private int check(byte[] bytes, TreeSet<Entry> entries) {
    CrashableStorage storage = new CrashableStorage();
    storage.replace(StoreFiles.table(1), bytes);
    TreeSet<Entry> missing = new TreeSet<>(entries);
    TableCheck table =
        TableCheck.open(storage, 1, TableFixture.STORE, fixture.ledger, problem -> {});
    assertTrue(table != null, "a file of " + bytes.length + " bytes");
    try (table) {
      table.run((offset, key, length, tag, region, payload, payloadLength) -> {}, () -> {});
      pulses = 0;
      table.search((offset, key, length, tag, region, payload, payloadLength) -> {}, this::pulse);
      if (table.hasBlocks()) {
        try (InternalIterator found = table.iterator(fixture.ledger)) {
          for (found.seekToFirst(); found.isValid(); found.next()) {
            Entry entry =
                new Entry(
                    found.keyRegion().getBytes(found.keyOffset(), found.keyLength()),
                    found.tag(),
                    found.payloadRegion().getBytes(found.payloadOffset(), found.payloadLength()));
            assertTrue(
                missing.remove(entry), () -> entry + " was never written, or is found twice");
          }
        }
      }
      int count = entries.size() - missing.size();
      List<LostBlocks> lost = table.lostBlocks();
      missing.removeIf(entry -> lost.stream().anyMatch(blocks -> mayHold(blocks, entry)));
      assertEquals(List.of(), List.copyOf(missing), () -> bytes.length + " bytes, lost " + lost);
      return count;
    }
  }

  private void pulse() {
    pulses++;
    assertTrue(pulses < 10_000_000, "the search does not end");
  }

  private static boolean mayHold(LostBlocks lost, Entry entry) {
    byte[] above = lost.above();
    byte[] below = lost.below();
    return (above == null || Arrays.compareUnsigned(above, entry.key()) <= 0)
        && (below == null || Arrays.compareUnsigned(entry.key(), below) <= 0);
  }
}
