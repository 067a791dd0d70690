package io.kvsep.internal.vlog;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** When reads are taken for cold. */
final class ResidencyTest {
  private static final long FAST = 1_000;
  private static final long SLOW = 90_000;

  private final Residency residency = new Residency();

  @Test
  void startsColdAndIsWarmAfterManyFastReads() {
    assertTrue(residency.isCold());
    assertWarmAfter(Residency.SLOW_WEIGHT);
  }

  @Test
  void oneSlowReadMakesCold() {
    assertWarmAfter(Residency.SLOW_WEIGHT);
    assertTrue(residency.note(SLOW, 1_000));
    assertTrue(residency.isCold());
    assertWarmAfter(Residency.SLOW_WEIGHT);
  }

  @Test
  void staysColdWhileOneReadInAThousandIsSlow() {
    for (int i = 0; i < 100_000; i++) {
      residency.note(i % 1_000 == 0 ? SLOW : FAST, 1_000);
    }
    assertTrue(residency.isCold());
  }

  @Test
  void rareInterruptionsDoNotKeepItCold() {
    for (int i = 1; i < 100_000 && residency.isCold(); i++) {
      residency.note(i % 2_000 == 0 ? SLOW : FAST, 1_000);
    }
    assertFalse(residency.isCold());
  }

  @Test
  void aLongColdTimeIsOverAsSoonAsAShortOneOnceReadsAreFast() {
    for (int i = 0; i < 1_000_000; i++) {
      residency.note(SLOW, 1_000);
    }
    assertWarmAfter(4 * Residency.SLOW_WEIGHT);
  }

  @Test
  void longRecordsMayTakeLonger() {
    assertWarmAfter(Residency.SLOW_WEIGHT);
    assertFalse(residency.note(SLOW, 1 << 20));
    assertFalse(residency.isCold());
  }

  private void assertWarmAfter(int reads) {
    for (int i = 0; i < reads; i++) {
      assertTrue(residency.isCold());
      assertFalse(residency.note(FAST, 1_000));
    }
    assertFalse(residency.isCold());
  }
}
