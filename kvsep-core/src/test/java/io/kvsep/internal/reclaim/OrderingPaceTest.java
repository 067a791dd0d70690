package io.kvsep.internal.reclaim;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

/** How much work on the order of values counts beside other calls. */
final class OrderingPaceTest {
  private static final long SECOND = 1_000_000_000;

  private long now = 1_000;
  private boolean isQuiet = true;
  private boolean isReaderInside;
  private long told;

  private final OrderingPace pace =
      new OrderingPace(bytes -> told = bytes, () -> now, () -> isQuiet, () -> isReaderInside);

  private long told(long bytes) {
    pace.moved(bytes);
    return told;
  }

  @Test
  void itIsFasterThanReclaimWithoutCalls() {
    assertEquals(100, told(400));
    isQuiet = false;
    assertEquals(400, told(400));
  }

  @Test
  void itIsSlowerForASecondAfterARead() {
    isReaderInside = true;
    assertEquals(1_600, told(400));
    isReaderInside = false;
    now += SECOND - 1;
    assertEquals(1_600, told(400));
    now++;
    assertEquals(100, told(400));
  }

  @Test
  void itHasTheUsualSpeedWhileSomethingWaitsForIt() {
    isReaderInside = true;
    isQuiet = false;
    assertEquals(400, told(400));
  }

  @Test
  void aReaderThatWasSeenOftenIsNoLongerRemembered() {
    isReaderInside = true;
    for (int i = 0; i < 10; i++) {
      now += SECOND / 10;
      assertEquals(1_600, told(400));
    }
    isReaderInside = false;
    now += SECOND;
    assertEquals(100, told(400));
  }
}
