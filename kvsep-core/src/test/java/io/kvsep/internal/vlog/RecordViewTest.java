package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.Seeds;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

final class RecordViewTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final RecordView view = new RecordView();

  @AfterEach
  void nothingIsLeft() {
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void everyFieldIsWhereTheFormatSays() {
    Region region = region("32 03 02 05  00102030405060ff  006b31  abcd  01020304");
    assertTrue(view.decode(region, 0, region.length()));
    assertEquals(Tag.PUT | Tag.EXPIRES, view.kind);
    assertTrue(view.compressed);
    assertEquals(21, view.length);
    assertEquals(3, view.keyLength);
    assertEquals(12, view.keyOffset);
    assertEquals(2, view.storedLength);
    assertEquals(15, view.storedOffset());
    assertEquals(5, view.valueLength);
    assertEquals(0xff60_5040_3020_1000L, view.expiresAtMillis(region));
    assertEquals(17, view.crcOffset());
    region.free();
  }

  @Test
  void rangeDeleteHasItsEndForAValue() {
    Region region = region("04 02 03  0061  006d7a  01020304");
    assertTrue(view.decode(region, 0, region.length()));
    assertEquals(Tag.RANGE_DELETE, view.kind);
    assertFalse(view.compressed);
    assertEquals(2, view.keyLength);
    assertEquals(3, view.keyOffset);
    assertEquals(3, view.storedLength);
    assertEquals(3, view.valueLength);
    assertEquals(5, view.storedOffset());
    assertEquals(12, view.length);
    region.free();
    Region longest = region("04 01 848004 00 " + "00".repeat(65_540 + 4));
    assertTrue(view.decode(longest, 0, longest.length()));
    longest.free();
  }

  @Test
  void whatNoWriterWritesIsNoRecord() {
    refused("00 01 01 00 00 00000000"); // no kind
    refused("03 01 01 00 00 00000000"); // a pointer
    refused("11 01 0000000000000000 00 00000000"); // a delete that expires
    refused("21 01 00 00000000"); // a delete that is compressed
    refused("14 01 01 0000000000000000 00 00 00000000"); // a range delete that expires
    refused("24 01 01 01 00 00 00000000"); // a range delete that is compressed
    refused("04 01 00 00 00000000"); // a range without an end
    refused("04 01 858004 00 " + "00".repeat(65_541 + 4)); // an end of 65,541 bytes
    refused("42 01 01 00 00 00000000"); // an unknown flag
    refused("82 01 01 00 00 00000000");
    refused("02 00 01 00 00000000"); // no key
    refused("02 8100 01 00 00 00000000"); // a varint in more bytes than it takes
    refused("02 01 8100 00 00 00000000");
    refused("02 8580 04 00 " + "00".repeat(65_541 + 4)); // a key of 65,541 bytes
    refused("02 01 8180808004 00 00000000"); // a value above 1 GiB
    refused("22 01 01 8004 00 00 00000000"); // one byte that gives 512
    refused("02 ffffffff7f 00 00 00000000");
    refused("02 ffffffffff 00 00 00000000");
    Region longest = region("02 848004 00 " + "00".repeat(65_540 + 4));
    assertTrue(view.decode(longest, 0, longest.length()));
    longest.free();
  }

  private void refused(String hex) {
    Region region = region(hex);
    assertFalse(view.decode(region, 0, region.length()), hex);
    region.free();
  }

  @Test
  void recordMustEndWithinItsLimit() {
    Region region = region("12 02 03 0102030405060708 006b 616263 00000000");
    for (long limit = 0; limit < region.length(); limit++) {
      assertFalse(view.decode(region, 0, limit));
    }
    assertTrue(view.decode(region, 0, region.length()));
    assertFalse(view.decode(region, region.length(), region.length()));
    assertFalse(view.decode(region, region.length() + 5, region.length()));
    region.free();
  }

  /** Whatever the bytes are, nothing outside of them is touched and no length leads out of them. */
  @Test
  void anyBytesAreARecordOrNot() {
    Seeds.run(
        getClass(),
        "anyBytesAreARecordOrNot",
        1,
        20,
        seed -> {
          Random random = new Random(seed);
          for (int i = 0; i < 5000; i++) {
            byte[] bytes = LogFixture.random(random, 1 + random.nextInt(40));
            bytes[0] = (byte) (random.nextInt(4) << 4 | random.nextInt(5));
            if (bytes.length > 3) {
              bytes[1] = (byte) random.nextInt(20);
              bytes[2] = (byte) random.nextInt(20);
            }
            Region region = ledger.allocate(MemoryPurpose.READ, bytes.length);
            region.put(0, bytes, 0, bytes.length);
            if (view.decode(region, 0, bytes.length)) {
              assertTrue(view.length <= bytes.length);
              assertEquals(view.length - 4, view.crcOffset());
              assertEquals(view.crcOffset(), view.storedOffset() + view.storedLength);
              assertEquals(view.storedOffset(), view.keyOffset + view.keyLength);
            }
            region.free();
          }
        });
  }

  private Region region(String hex) {
    byte[] bytes = HexFormat.of().parseHex(hex.replace(" ", ""));
    Region region = ledger.allocate(MemoryPurpose.READ, bytes.length);
    region.put(0, bytes, 0, bytes.length);
    return region;
  }
}
