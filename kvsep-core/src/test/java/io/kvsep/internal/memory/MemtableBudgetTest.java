package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Who gets how much of the memory for memtables. */
final class MemtableBudgetTest {
  private static final long LEAST = 256;
  private static final long MOST = 64 * LEAST;

  private static MemtableBudget.Grant given(MemtableBudget.@Nullable Grant grant) {
    assertNotNull(grant);
    return grant;
  }

  @Test
  void aStoreWithoutOthersGetsAll() {
    MemtableBudget.Share share = new MemtableBudget(MOST, LEAST).join();
    assertEquals(MOST / 2, share.firstBytes(MOST / 2));
    assertEquals(MOST / 2, given(share.take(MOST / 2)).bytes());
    MemtableBudget.Grant rest = given(share.take(MOST));
    assertEquals(MOST / 2, rest.bytes());
    assertNull(share.take(LEAST));
    rest.release();
    rest.release();
    assertEquals(MOST / 2, given(share.take(MOST)).bytes());
  }

  @Test
  void everyStoreGetsTheLeastAmountWhateverOthersHold() {
    MemtableBudget budget = new MemtableBudget(MOST, LEAST);
    given(budget.join().take(MOST));
    for (int i = 0; i < 10; i++) {
      MemtableBudget.Share late = budget.join();
      assertEquals(LEAST, late.firstBytes(MOST));
      assertEquals(LEAST, given(late.take(MOST)).bytes());
      assertNull(late.take(LEAST));
    }
  }

  @Test
  void somethingIsLeftForTheNextStore() {
    MemtableBudget budget = new MemtableBudget(MOST, LEAST);
    MemtableBudget.Share one = budget.join();
    MemtableBudget.Share other = budget.join();
    for (int i = 0; i < 3; i++) {
      given(one.take(MOST));
    }
    assertTrue(given(other.take(MOST)).bytes() > 3 * LEAST);
  }

  @Test
  void aStoreIsToldOnceThatOthersNeedWhatItHolds() {
    MemtableBudget budget = new MemtableBudget(MOST, LEAST);
    MemtableBudget.Share idle = budget.join();
    given(idle.take(MOST / 2));
    MemtableBudget.Share busy = budget.join();
    assertFalse(idle.isWantedElsewhere());
    given(busy.take(MOST));
    assertTrue(idle.isWantedElsewhere());
    assertFalse(idle.isWantedElsewhere());
    MemtableBudget.Share small = budget.join();
    given(small.take(LEAST));
    given(busy.take(MOST));
    assertFalse(small.isWantedElsewhere());
  }

  /** Bulk loads do not take what memtables may always hold. */
  @Test
  void whatIsSpokenForIsNeverExceededButByLeastAmounts() {
    Seeds.each(getClass(), 200, MemtableBudgetTest::run);
  }

  private record Held(int store, MemtableBudget.Grant grant) {}

  private static void run(Random random) {
    MemtableBudget budget = new MemtableBudget(MOST, LEAST);
    int count = 1 + random.nextInt(20);
    List<MemtableBudget.Share> shares = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      shares.add(budget.join());
    }
    List<Held> held = new ArrayList<>();
    long loads = 0;
    for (int step = 0; step < 300; step++) {
      int store = random.nextInt(count);
      boolean holdsNothing = held.stream().noneMatch(some -> some.store == store);
      long wanted = 1L + random.nextInt((int) MOST);
      if (random.nextInt(3) == 0 && !held.isEmpty()) {
        held.remove(random.nextInt(held.size())).grant.release();
      } else if (random.nextInt(20) == 0) {
        MemtableBudget.Grant grant = shares.get(store).takeForLoad(wanted);
        assertTrue(grant.bytes() >= Math.min(wanted, LEAST));
        held.add(new Held(-1, grant));
        loads++;
      } else {
        MemtableBudget.Grant grant = shares.get(store).take(wanted);
        assertTrue(grant != null || !holdsNothing);
        if (grant != null) {
          assertTrue(grant.bytes() <= wanted);
          held.add(new Held(store, grant));
        }
      }
      long sum = held.stream().mapToLong(some -> some.grant.bytes()).sum();
      assertTrue(sum <= MOST + (loads + count) * LEAST, sum + " of " + MOST);
    }
    held.forEach(some -> some.grant.release());
    shares.subList(1, count).forEach(MemtableBudget.Share::close);
    assertEquals(MOST, given(shares.get(0).take(MOST)).bytes());
  }
}
