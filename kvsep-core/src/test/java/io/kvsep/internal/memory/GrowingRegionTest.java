package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Arrays;
import java.util.Random;
import org.junit.jupiter.api.Test;

final class GrowingRegionTest {
  private final MemoryLedger ledger = new MemoryLedger();

  @Test
  void growingKeepsTheContents() {
    Random random = new Random(7);
    byte[] model = new byte[0];
    try (GrowingRegion growing = new GrowingRegion(ledger, MemoryPurpose.COMMIT)) {
      while (model.length < 3 << 20) {
        int length = model.length + 1 + random.nextInt(1 + model.length);
        byte[] more = new byte[length - model.length];
        random.nextBytes(more);
        Region region = growing.ensure(length);
        assertTrue(region.length() >= length);
        assertEquals(region.length(), growing.capacity());
        assertEquals(region.length(), ledger.totalBytes());
        region.put(model.length, more, 0, more.length);
        int before = model.length;
        model = Arrays.copyOf(model, length);
        System.arraycopy(more, 0, model, before, more.length);
        assertArrayEquals(model, region.getBytes(0, length));
      }
    }
    assertEquals(0, ledger.totalBytes());
  }

  @Test
  void askingForLessKeepsTheRegion() {
    try (GrowingRegion growing = new GrowingRegion(ledger, MemoryPurpose.READ)) {
      assertEquals(0, growing.capacity());
      Region region = growing.ensure(100);
      assertSame(region, growing.ensure(100));
      assertSame(region, growing.ensure(0));
      assertSame(region, growing.region());
    }
  }

  @Test
  void closedOneStartsAnew() {
    GrowingRegion growing = new GrowingRegion(ledger, MemoryPurpose.READ);
    growing.close();
    growing.ensure(1000).putByte(999, (byte) 1);
    growing.close();
    growing.close();
    assertEquals(0, growing.capacity());
    assertEquals(0, ledger.totalBytes());
    assertTrue(growing.region().length() < 1000);
    growing.close();
    assertEquals(0, ledger.totalBytes());
  }

  /** A call of the JVM may throw for a page that was read before. */
  private static final class FaultyLedger extends MemoryLedger {
    private boolean faulty;

    @Override
    void released(MemoryPurpose purpose, long length) {
      super.released(purpose, length);
      if (faulty) {
        faulty = false;
        throw new InternalError("as a test wants it");
      }
    }
  }

  @Test
  void aCloseThatThrowsLeavesNothing() {
    FaultyLedger faulty = new FaultyLedger();
    GrowingRegion growing = new GrowingRegion(faulty, MemoryPurpose.READ);
    growing.ensure(100);
    faulty.faulty = true;
    assertThrows(InternalError.class, growing::close);
    assertEquals(0, faulty.totalBytes());
    assertEquals(0, growing.capacity());
    growing.ensure(100).putByte(99, (byte) 1);
    growing.close();
    assertEquals(0, faulty.totalBytes());
  }

  @Test
  void growingThatThrowsLeavesARegion() {
    FaultyLedger faulty = new FaultyLedger();
    GrowingRegion growing = new GrowingRegion(faulty, MemoryPurpose.READ);
    growing.ensure(100).putByte(99, (byte) 1);
    faulty.faulty = true;
    assertThrows(InternalError.class, () -> growing.ensure(1000));
    assertEquals(1, growing.ensure(100).getByte(99));
    growing.close();
    assertEquals(0, faulty.totalBytes());
  }
}
