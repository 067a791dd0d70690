package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When reads are taken for cold. */
final class ResidencyTest {
  private final Residency residency = new Residency();

  @Test
  void startsColdAndIsWarmAfterManyReadsFromMemory() {
    assertTrue(residency.isCold());
    assertWarmAfter(Residency.SLOW_WEIGHT);
  }

  @Test
  void oneReadFromTheDeviceMakesCold() {
    assertWarmAfter(Residency.SLOW_WEIGHT);
    residency.note(true);
    assertTrue(residency.isCold());
    assertWarmAfter(Residency.SLOW_WEIGHT);
  }

  @Test
  void aSuspicionIsSoonOver() {
    assertWarmAfter(Residency.SLOW_WEIGHT);
    residency.suspect();
    residency.suspect();
    assertWarmAfter(Residency.SUSPICION);
    residency.note(true);
    residency.suspect();
    assertWarmAfter(Residency.SLOW_WEIGHT);
  }

  @Test
  void staysColdWhileOneReadInAThousandIsFromTheDevice() {
    for (int i = 0; i < 100_000; i++) {
      residency.note(i % 1_000 == 0);
    }
    assertTrue(residency.isCold());
  }

  @Test
  void aLongColdTimeIsOverAsSoonAsAShortOne() {
    for (int i = 0; i < 1_000_000; i++) {
      residency.note(true);
    }
    assertWarmAfter(4 * Residency.SLOW_WEIGHT);
  }

  @Test
  void theSystemIsNotAskedWhileManyReadsAreFromTheDevice() {
    assertFalse(residency.isMostlyCold());
    noteOneIn(5, 10_000);
    assertTrue(residency.isMostlyCold());
    noteOneIn(20, 10_000);
    assertFalse(residency.isMostlyCold());
  }

  @Test
  void itIsAskedAgainSoonAfterAllIsInMemory() {
    noteOneIn(1, 1_000_000);
    for (int i = 0; i < Residency.SHARE_MAX; i++) {
      residency.note(false);
    }
    assertFalse(residency.isMostlyCold());
  }

  private void noteOneIn(int reads, int count) {
    for (int i = 0; i < count; i++) {
      residency.note(i % reads == 0);
    }
  }

  @Test
  void whatIsSlowDependsOnTheLength() {
    assertFalse(Residency.isSlow(1_000, 1_000));
    assertTrue(Residency.isSlow(90_000, 1_000));
    assertFalse(Residency.isSlow(90_000, 1 << 20));
  }

  private void assertWarmAfter(int reads) {
    for (int i = 0; i < reads; i++) {
      assertTrue(residency.isCold());
      residency.note(false);
    }
    assertFalse(residency.isCold());
  }
}
