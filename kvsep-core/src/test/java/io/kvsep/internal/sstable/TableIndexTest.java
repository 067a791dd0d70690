package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.NativeWindow;
import io.kvsep.internal.memory.Region;
import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The index of a table alone, with as many blocks as its groups have edges. */
final class TableIndexTest {
  /** Where the section begins; not aligned. */
  private static final long OFFSET = 1003;

  private static final int BLOCKS_MAX = 5 * TableFormat.INDEX_GROUP + 1;

  private final MemoryLedger ledger = new MemoryLedger();

  @AfterEach
  void everythingIsGivenBack() {
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void everyCountOfBlocksIsSearchedRightly() {
    for (int count = 1; count <= BLOCKS_MAX; count++) {
      searchAll(count, "k%05d");
    }
  }

  /** The first eight bytes behind the common beginning decide nothing here. */
  @Test
  void equalPrefixesAreToldApartByTheirSeparators() {
    for (int count = 1; count <= BLOCKS_MAX; count++) {
      searchAll(count, "ab-the-same-for-all-%05d");
    }
    searchAll(BLOCKS_MAX, "%2$d-the-same-for-a-half-%1$05d");
  }

  @Test
  void sectionWithAnotherByteIsCorruptionOrAnswersInRange() {
    int count = TableFormat.INDEX_GROUP + 3;
    Region file = file(count, "k%05d");
    Region key = region("k00009");
    int refused = 0;
    for (long at = OFFSET; at < file.length(); at++) {
      for (int flip : new int[] {0x01, 0x80, 0xff}) {
        byte sound = file.getByte(at);
        file.putByte(at, (byte) (sound ^ flip));
        try {
          TableIndex index = new TableIndex(bytes(file), OFFSET, file.length(), dataEnd(count));
          int block = index.find(key, 0, 6, 0, new NativeWindow());
          assertTrue(block >= 0 && block <= index.blockCount());
        } catch (CorruptionException | IndexOutOfBoundsException e) {
          refused++;
        }
        file.putByte(at, sound);
      }
    }
    file.free();
    key.free();
    assertTrue(refused > 0);
  }

  private void searchAll(int count, String pattern) {
    Region file = file(count, pattern);
    TableIndex index = new TableIndex(bytes(file), OFFSET, file.length(), dataEnd(count));
    assertEquals(count, index.blockCount());
    for (int i = 0; i <= count; i++) {
      assertEquals(blockOffset(i), index.blockStart(i));
    }
    for (int i = 0; i < count; i++) {
      String separator = separator(pattern, i);
      String message = separator + " of " + count;
      assertEquals(i, find(index, separator), message);
      assertEquals(i + 1, find(index, separator + "\0"), message);
      if (i > 0) {
        assertEquals(i, find(index, separator(pattern, i - 1) + "x"), message);
      }
    }
    assertEquals(0, find(index, "\0"));
    assertEquals(count, find(index, "~"));
    file.free();
  }

  private Region file(int count, String pattern) {
    try (IndexBuilder builder = new IndexBuilder(ledger)) {
      for (int i = 0; i < count; i++) {
        Region key = region(separator(pattern, i));
        builder.add(blockOffset(i), /* tag= */ 0, key, (int) key.length());
        key.free();
      }
      Region section = ledger.allocate(MemoryPurpose.TABLE_BUILD, builder.sectionBytes(OFFSET));
      builder.fill(section, OFFSET, dataEnd(count));
      Region file = ledger.allocate(MemoryPurpose.TABLE_BUILD, OFFSET + section.length());
      file.put(OFFSET, section, 0, section.length());
      section.free();
      return file;
    }
  }

  private int find(TableIndex index, String key) {
    Region region = region(key);
    int block = index.find(region, 0, (int) region.length(), /* tag= */ 0, new NativeWindow());
    region.free();
    return block;
  }

  private Region region(String text) {
    byte[] bytes = text.getBytes(StandardCharsets.US_ASCII);
    Region region = ledger.allocate(MemoryPurpose.READ, bytes.length);
    region.put(0, bytes, 0, bytes.length);
    return region;
  }

  private static String separator(String pattern, int block) {
    return String.format(pattern, block, block / (BLOCKS_MAX / 2 + 1));
  }

  private static long blockOffset(int block) {
    return TableFormat.HEADER_BYTES + 500L * block;
  }

  private static long dataEnd(int count) {
    return blockOffset(count);
  }

  private static TableBytes bytes(Region file) {
    return new TableBytes("test", file, 0, ColdReadPolicy.WARM);
  }
}
