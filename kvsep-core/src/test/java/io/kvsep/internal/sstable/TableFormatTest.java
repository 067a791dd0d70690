package io.kvsep.internal.sstable;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assertions.fail;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.IncompatibleFormatException.Reason;
import io.kvsep.internal.base.StoreId;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.sstable.TableFixture.Entry;
import io.kvsep.testing.Readers;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** The bytes of a table, and what becomes of it when one of them is another. */
final class TableFormatTest {
  private static final long NUMBER = 7;
  private static final String NAME = StoreFiles.table(NUMBER);

  private static final String RIGHT = "right";

  private static final TableOptions PACKED = TableFixture.options(512, 3, /* packsBlocks= */ true);

  /** The table of docs/formats/table.md. */
  private static final String GOLDEN =
      """
      6b76736570737374010000004444333322221111888877776666555507000000
      00000000b6a0de5b00070861707269636f7402056f72616e6765070007020367
      7265656e04010a6c03c801098020e807f403000402706c756d01040000000001
      000000ab9cbd1a00000000000000000000000000000000000000000000000000
      0000000000000400000000000000040001010000004000010008000000000000
      0000002000020000000004200000018200000000000000200020000040100000
      0100000006000000000000000000000000000000000000000000000000000000
      0000000000000000000000000000000000000000000000000000000000000000
      0000000000000000000000002800000000000000000000000100000067000000
      706c756d00010000000400000004000000000000000100000000000000170000
      00000000000300000000000000c8000000000000000000000000000000000000
      0000000000000000000000000007000000040000000100000000000000617072
      69636f74706c756d09e8070101670000006100000058189bbfc8000000650000
      005b2109692d01000060000000ec3ec469010000006b767365707373740a29c9
      34
      """;

  /** The same, as builds wrote it that did not count what a newer entry hides. */
  private static final String UNCOUNTED_END =
      """
      69636f74706c756d09e80701670000006100000058189bbfc800000065000000
      5b2109692d0100005f000000b8da15db010000006b767365707373740e0fd130
      """;

  private final TableFixture fixture = new TableFixture();

  /** Blocks that are worth packing. */
  private static List<Entry> compressibleEntries() {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 24; i++) {
      entries.add(TableFixture.put(String.format("key-%03d", i), 1 + i, "value ".repeat(8) + i));
    }
    return entries;
  }

  @AfterEach
  void everythingIsGivenBack() {
    fixture.close();
  }

  @Test
  void tinyTableHasTheDocumentedBytes() throws IOException {
    fixture.write(NUMBER, TableOptions.defaults(TableFixture.STORE), tinyEntries());

    assertEquals(GOLDEN.replaceAll("\\s", ""), hex(fixture.storage.contents(NAME)));
  }

  @Test
  void documentedBytesAreReadable() throws IOException {
    requireReadable(GOLDEN, 1);
  }

  @Test
  void bytesOfBuildsThatDidNotCountWhatIsHiddenAreReadable() throws IOException {
    String begin = GOLDEN.substring(0, GOLDEN.indexOf(UNCOUNTED_END.substring(0, 20)));
    requireReadable(begin + UNCOUNTED_END, 0);
  }

  private void requireReadable(String documented, long hiddenCount) throws IOException {
    byte[] bytes = HexFormat.of().parseHex(documented.replaceAll("\\s", ""));
    fixture.storage.replace(NAME, bytes);
    TableMeta meta = fixture.properties(NUMBER);

    assertEquals(hiddenCount, meta.hiddenCount());
    assertEquals(RIGHT, wrongAnswer(meta, tinyEntries()));
  }

  @Test
  void anyFlippedByteIsNoticedOrHarmless() throws IOException {
    flipEveryByte(TableFixture.options(128, 3), smallEntries());
  }

  @Test
  void anyFlippedByteOfPackedBlocksIsNoticedOrHarmless() throws IOException {
    flipEveryByte(PACKED, compressibleEntries());
  }

  private void flipEveryByte(TableOptions options, List<Entry> entries) throws IOException {
    TableMeta meta = fixture.write(NUMBER, options, entries);
    byte[] sound = fixture.storage.contents(NAME);
    for (int at = 0; at < sound.length; at++) {
      for (int flip : new int[] {0x01, 0x80, 0xff}) {
        byte[] damaged = sound.clone();
        damaged[at] ^= (byte) flip;
        fixture.storage.replace(NAME, damaged);
        String wrong = wrongAnswer(meta, entries);
        if (!wrong.equals(RIGHT)) {
          fail("byte " + at + " changed by " + flip + ": " + wrong);
        }
      }
    }
  }

  @Test
  void anyTruncationIsCorruption() throws IOException {
    List<Entry> entries = smallEntries();
    TableMeta meta = fixture.write(NUMBER, TableFixture.options(128, 3), entries);
    byte[] sound = fixture.storage.contents(NAME);
    for (int length = 0; length < sound.length; length++) {
      fixture.storage.replace(NAME, Arrays.copyOf(sound, length));

      CorruptionException known =
          assertThrows(CorruptionException.class, () -> fixture.open(meta).close());
      assertThrows(CorruptionException.class, () -> fixture.properties(NUMBER));
      assertEquals(NAME, known.file());
    }
  }

  @Test
  void appendedBytesAreCorruption() throws IOException {
    TableMeta meta = writeTiny();
    byte[] sound = fixture.storage.contents(NAME);
    fixture.storage.replace(NAME, Arrays.copyOf(sound, sound.length + 1));

    assertThrows(CorruptionException.class, () -> fixture.open(meta));
  }

  @Test
  void otherMagicIsForeign() throws IOException {
    TableMeta meta = writeTiny();
    byte[] bytes = fixture.storage.contents(NAME);
    ByteBuffer.wrap(bytes).put(TableFixture.bytes("GIF89a, a picture that has nothing of kvsep"));
    fixture.storage.replace(NAME, bytes);

    assertEquals(Reason.FOREIGN, refusal(meta, TableFixture.STORE));
  }

  @Test
  void anyFlippedBitOfTheHeaderIsCorruption() throws IOException {
    TableMeta meta = writeTiny();
    byte[] sound = fixture.storage.contents(NAME);
    for (int bit = 0; bit < 8 * TableFormat.HEADER_BYTES; bit++) {
      byte[] damaged = sound.clone();
      damaged[bit / 8] ^= (byte) (1 << bit % 8);
      fixture.storage.replace(NAME, damaged);
      assertThrows(CorruptionException.class, () -> fixture.open(meta), "bit " + bit);
    }
  }

  @Test
  void shortFileOfAnotherKindIsForeign() throws IOException {
    TableMeta meta = writeTiny();
    fixture.storage.replace(NAME, TableFixture.bytes("hello world"));

    assertEquals(Reason.FOREIGN, refusal(meta, TableFixture.STORE));
  }

  @Test
  void tableOfAnotherStoreIsForeign() throws IOException {
    TableMeta meta = writeTiny();

    assertEquals(Reason.FOREIGN, refusal(meta, new StoreId(1, 2)));
  }

  @Test
  void laterVersionIsTooNew() throws IOException {
    TableMeta meta = writeTiny();
    writeVersion(TableFormat.KIND.version() + 1);

    assertEquals(Reason.TOO_NEW, refusal(meta, TableFixture.STORE));
  }

  @Test
  void earlierVersionIsTooOld() throws IOException {
    TableMeta meta = writeTiny();
    writeVersion(TableFormat.KIND.versionMin() - 1);

    assertEquals(Reason.TOO_OLD, refusal(meta, TableFixture.STORE));
  }

  @Test
  void tableUnderAnotherNumberIsCorruption() throws IOException {
    TableMeta meta = writeTiny();
    fixture.storage.rename(NAME, StoreFiles.table(8));
    TableMeta other = fixture.write(9, TableOptions.defaults(TableFixture.STORE), tinyEntries());
    TableMeta renamed = withNumber(other, 8);

    assertEquals(meta.fileBytes(), renamed.fileBytes());
    assertThrows(CorruptionException.class, () -> fixture.open(renamed));
  }

  @Test
  void tableThatIsNotTheOneOfTheManifestIsCorruption() throws IOException {
    writeTiny();
    List<Entry> others = new ArrayList<>(tinyEntries());
    others.set(0, TableFixture.put("aoricot", 5, "orange"));
    TableMeta other = fixture.write(8, TableOptions.defaults(TableFixture.STORE), others);

    assertThrows(CorruptionException.class, () -> fixture.open(withNumber(other, NUMBER)));
  }

  /** Two blocks of equal length trade places: each is sound, but not where it is. */
  @Test
  void misplacedBlockIsCorruption() throws IOException {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      entries.add(TableFixture.put(String.format("k%03d", i), 1, "v"));
    }
    TableMeta meta = fixture.write(NUMBER, TableFixture.options(128, 4), entries);
    int first;
    int second;
    int end;
    try (TableReader table = fixture.open(meta)) {
      first = (int) table.index().blockStart(0);
      second = (int) table.index().blockStart(1);
      end = (int) table.index().blockStart(2);
    }
    assertEquals(second - first, end - second);
    byte[] swapped = fixture.storage.contents(NAME);
    byte[] block = Arrays.copyOfRange(swapped, first, second);
    System.arraycopy(swapped, second, swapped, first, block.length);
    System.arraycopy(block, 0, swapped, second, block.length);
    fixture.storage.replace(NAME, swapped);

    try (TableReader table = fixture.open(meta)) {
      CorruptionException damage =
          assertThrows(
              CorruptionException.class,
              () -> fixture.get(table, TableFixture.bytes("k000"), Tag.MAX));
      assertEquals(first, damage.offset());
    }
  }

  /** Bytes that no writer makes, under a checksum that holds: answers may be wrong. */
  @Test
  void blockThatDoesNotHoldTogetherRaisesNothingButCorruption() throws IOException {
    forgeEveryByte(TableFixture.options(256, 3), smallEntries());
  }

  @Test
  void packedBlockThatDoesNotHoldTogetherRaisesNothingButCorruption() throws IOException {
    forgeEveryByte(PACKED, compressibleEntries());
  }

  @Test
  void packedBlocksAreShorterAndSayTheSame() throws IOException {
    List<Entry> entries = compressibleEntries();
    TableMeta plain = fixture.write(1, TableFixture.options(512, 3), entries);
    TableMeta packed = fixture.write(NUMBER, PACKED, entries);

    assertTrue(packed.fileBytes() < plain.fileBytes() * 3 / 4, packed + " after " + plain);
    assertEquals(RIGHT, wrongAnswer(packed, entries));
  }

  @Test
  void lookupsShareUnpackedBlocks() throws IOException {
    List<Entry> entries = compressibleEntries();
    TableMeta meta = fixture.write(NUMBER, PACKED, entries);
    try (TableReader table = fixture.open(meta)) {
      assertTrue(fixture.get(table, entries.get(0).key(), Tag.MAX));
      Region first = fixture.lookup.payloadRegion;
      assertTrue(fixture.get(table, entries.get(1).key(), Tag.MAX));
      assertSame(first, fixture.lookup.payloadRegion);
    }
  }

  private void forgeEveryByte(TableOptions options, List<Entry> entries) throws IOException {
    TableMeta meta = fixture.write(NUMBER, options, entries);
    byte[] sound = fixture.storage.contents(NAME);
    int first;
    int end;
    try (TableReader table = fixture.open(meta)) {
      first = (int) table.index().blockStart(0);
      end = (int) table.index().blockStart(1);
    }
    int noticed = 0;
    for (int at = first; at < end - 4; at++) {
      for (int value : new int[] {0, 0x7f, 0x80, 0xff}) {
        byte[] forged = sound.clone();
        forged[at] = (byte) value;
        seal(forged, first, end);
        fixture.storage.replace(NAME, forged);
        noticed += damagesSeen(meta, entries);
      }
    }
    assertTrue(noticed > 0);
  }

  private int damagesSeen(TableMeta meta, List<Entry> entries) throws IOException {
    int damages = 0;
    try (TableReader table = fixture.open(meta)) {
      for (Entry entry : entries) {
        try {
          fixture.get(table, entry.key(), entry.tag());
        } catch (CorruptionException e) {
          damages++;
        }
      }
      try (InternalIterator iterator = table.iterator(fixture.ledger)) {
        for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
          TableFixture.current(iterator);
        }
      } catch (CorruptionException e) {
        damages++;
      }
      try (InternalIterator iterator = table.iterator(fixture.ledger)) {
        for (iterator.seekToLast(); iterator.isValid(); iterator.previous()) {
          TableFixture.current(iterator);
        }
      } catch (CorruptionException e) {
        damages++;
      }
    }
    return damages;
  }

  private static void seal(byte[] file, int first, int end) {
    CRC32C crc = new CRC32C();
    crc.update(file, first, end - 4 - first);
    long seed = TableFormat.checksumSeed(TableFixture.STORE, NUMBER);
    int checksum = TableFormat.checksum((int) crc.getValue(), seed, first);
    ByteBuffer.wrap(file).order(ByteOrder.LITTLE_ENDIAN).putInt(end - 4, checksum);
  }

  /** {@link #RIGHT} when every answer is right or an error; else what was wrong. */
  private String wrongAnswer(TableMeta meta, List<Entry> entries) throws IOException {
    try (TableReader table = fixture.open(meta)) {
      for (Entry entry : entries) {
        try {
          if (!fixture.get(table, entry.key(), entry.tag())) {
            return "missing " + entry;
          }
          if (!Arrays.equals(entry.payload(), fixture.found())) {
            return "other payload for " + entry;
          }
        } catch (CorruptionException e) {
          assertEquals(NAME, e.file());
        }
      }
      return wrongWalk(table, entries);
    } catch (CorruptionException e) {
      assertEquals(NAME, e.file());
      return RIGHT;
    } catch (IncompatibleFormatException e) {
      return RIGHT;
    }
  }

  private String wrongWalk(TableReader table, List<Entry> entries) {
    try (InternalIterator iterator = table.iterator(fixture.ledger)) {
      int count = 0;
      for (iterator.seekToFirst(); iterator.isValid(); iterator.next()) {
        Entry found = TableFixture.current(iterator);
        if (!found.equals(entries.get(count))
            || !Arrays.equals(found.payload(), entries.get(count).payload())) {
          return found + " in place of " + entries.get(count);
        }
        count++;
      }
      if (count < entries.size()) {
        return "only " + count + " entries";
      }
    } catch (CorruptionException e) {
      assertEquals(NAME, e.file());
    }
    return RIGHT;
  }

  private Reason refusal(TableMeta meta, StoreId storeId) {
    IncompatibleFormatException refusal =
        assertThrows(
            IncompatibleFormatException.class,
            () -> TableReader.open(fixture.storage, meta, storeId, Readers.unbounded()));
    assertEquals(NAME, refusal.file());
    return refusal.reason();
  }

  private void writeVersion(int version) throws IOException {
    byte[] bytes = fixture.storage.contents(NAME);
    ByteBuffer buffer = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN);
    buffer.putInt(8, version);
    CRC32C crc = new CRC32C();
    crc.update(bytes, 0, 36);
    buffer.putInt(36, (int) crc.getValue());
    fixture.storage.replace(NAME, bytes);
  }

  private TableMeta writeTiny() throws IOException {
    return fixture.write(NUMBER, TableOptions.defaults(TableFixture.STORE), tinyEntries());
  }

  private static TableMeta withNumber(TableMeta meta, long number) {
    return new TableMeta(
        number,
        meta.fileBytes(),
        meta.smallestKey(),
        meta.largestKey(),
        meta.smallestSequence(),
        meta.largestSequence(),
        meta.entryCount(),
        meta.tombstoneCount(),
        meta.hiddenCount(),
        meta.rangeCount(),
        meta.keyBytes(),
        meta.expiringCount(),
        meta.expiresAtMillisMin(),
        meta.expiresAtMillisMax(),
        meta.segments());
  }

  private List<Entry> tinyEntries() {
    return List.of(
        TableFixture.put("apricot", 5, "orange"),
        TableFixture.put("apricot", 3, "green"),
        fixture.pointer("april", 200, 9, 4096, 1000),
        TableFixture.delete("plum", 4));
  }

  private List<Entry> smallEntries() {
    List<Entry> entries = new ArrayList<>();
    for (int i = 0; i < 30; i++) {
      String key = String.format("key-%03d", i * 3);
      entries.add(TableFixture.put(key, 1000 + i, "value " + i));
      if (i % 4 == 0) {
        entries.add(fixture.pointer(key, 500 + i, 1 + i % 3, i * 100L, 300));
        entries.add(TableFixture.delete(key, 3));
      }
    }
    return entries;
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
