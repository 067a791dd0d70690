package io.kvsep.internal.iterator;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import org.junit.jupiter.api.Test;

final class PayloadTest {
  @Test
  void onlyKindsThatExpireHaveAHeader() {
    assertEquals(0, Payload.headerLength(Tag.DELETE));
    assertEquals(0, Payload.headerLength(Tag.PUT));
    assertEquals(0, Payload.headerLength(Tag.POINTER));
    assertEquals(8, Payload.headerLength(Tag.PUT | Tag.EXPIRES));
    assertEquals(8, Payload.headerLength(Tag.POINTER | Tag.EXPIRES));
  }

  @Test
  void expiryIsEightBytesLittleEndian() {
    MemoryLedger ledger = new MemoryLedger();
    Region region = ledger.allocate(MemoryPurpose.READ, 12);
    region.put(2, new byte[] {8, 7, 6, 5, 4, 3, 2, 1}, 0, 8);
    long millis = 0x0102_0304_0506_0708L;
    assertEquals(millis, Payload.expiresAtMillis(Tag.PUT | Tag.EXPIRES, region, 2));
    assertEquals(millis, Payload.expiresAtMillis(Tag.POINTER | Tag.EXPIRES, region, 2));
    // Without the flag nothing is read, not even where nothing is.
    assertEquals(Payload.NEVER, Payload.expiresAtMillis(Tag.PUT, region, 12));
    assertEquals(Payload.NEVER, Payload.expiresAtMillis(Tag.DELETE, region, -1));
    region.free();
    assertEquals(0, ledger.totalBytes());
  }
}
