package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** When a store counts as larger than the memory for its files. */
final class ColdReadPolicyTest implements ColdReadPolicy.Memory {
  private static final long GIB = 1L << 30;

  /** The system is asked at least once in so many updates. */
  private static final int UPDATES = 5;

  private final List<Integer> loads = new ArrayList<>();
  private final ColdReadPolicy policy =
      new ColdReadPolicy(this, part -> loads.add(part.remaining()));
  private long fileBytes = 4 * GIB;
  private long majorFaults = 1_000_000;

  @Override
  public long fileBytes() {
    return fileBytes;
  }

  @Override
  public long majorFaults() {
    return majorFaults;
  }

  @Test
  void theFirstUpdateDecides() {
    assertFalse(policy.isCold());
    policy.update(4 * GIB);
    assertTrue(policy.isCold());
  }

  @Test
  void aStoreTurnsColdAndWarmAtDifferentSizes() {
    assertFalse(isColdWith(3 * GIB - 1));
    assertTrue(isColdWith(3 * GIB));
    assertTrue(isColdWith(2 * GIB));
    assertFalse(isColdWith(2 * GIB - 1));
    assertFalse(isColdWith(3 * GIB - 1));
  }

  @Test
  void memoryThatOthersTakeTurnsAStoreCold() {
    assertFalse(isColdWith(GIB));
    fileBytes = GIB;
    assertTrue(isColdWith(GIB));
    fileBytes = 4 * GIB;
    assertFalse(isColdWith(GIB));
  }

  @Test
  void moreFaultsThanItTakesToLoadTheStoreTurnItColdForAWhile() {
    long needed = GIB / (64 << 10);
    assertFalse(isColdWith(GIB));
    majorFaults += needed;
    assertFalse(isColdWith(GIB), "loading the store");
    majorFaults += 2 * needed;
    assertTrue(isColdWith(GIB), "loading it again and again");
    int rounds = 0;
    while (isColdWith(GIB)) {
      rounds++;
      assertTrue(rounds < 1000);
    }
    assertTrue(rounds > 100);
    majorFaults += needed;
    assertFalse(isColdWith(GIB), "faults are counted anew");
  }

  @Test
  void onlyAColdStoreLoads() {
    Region mapping = Region.ofMapping(ByteBuffer.allocateDirect(100));
    assertFalse(policy.load(mapping, 10, 20));
    assertEquals(List.of(), loads);
    assertTrue(isColdWith(4 * GIB));
    assertTrue(policy.load(mapping, 10, 20));
    assertFalse(policy.load(mapping, 10, 0));
    assertEquals(List.of(20), loads);
  }

  private boolean isColdWith(long storeBytes) {
    for (int i = 0; i < UPDATES; i++) {
      policy.update(storeBytes);
    }
    return policy.isCold();
  }
}
