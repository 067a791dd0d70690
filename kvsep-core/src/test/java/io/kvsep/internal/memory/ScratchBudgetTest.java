package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

/** What calls hold and what slots keep is bounded, each by its own limit. */
final class ScratchBudgetTest {
  private final ScratchBudget budget = new ScratchBudget(4_000, 1_000, 600);
  private final ScratchBudget.Share first = budget.newShare();
  private final ScratchBudget.Share second = budget.newShare();
  private final ScratchBudget.Share third = budget.newShare();

  @Test
  void whatCallsHoldTogetherIsBounded() {
    assertTrue(first.take(3_000));
    assertFalse(second.take(1_001));
    assertTrue(second.take(1_000));
    first.release();
    second.release();
    assertTrue(third.take(4_000));
  }

  @Test
  void aCallCountsForTheMostThatItHolds() {
    assertTrue(first.take(1_000));
    assertTrue(first.take(2_500));
    assertTrue(first.take(500));
    assertFalse(second.take(1_501));
    assertFalse(first.take(4_001));
    assertTrue(second.take(1_500));
    assertFalse(first.take(2_501));
    first.release();
    assertTrue(second.take(4_000));
    second.release();
    second.release();
    assertTrue(first.take(4_000));
    assertFalse(second.take(1));
  }

  @Test
  void whatASlotHasKeptNeedsNoRoom() {
    assertTrue(called(first, 600));
    assertTrue(second.take(4_000));
    assertTrue(first.take(600));
    assertFalse(first.take(601));
    second.release();
    assertTrue(first.take(4_000));
  }

  @Test
  void aSlotDoesNotKeepMuch() {
    assertTrue(called(first, 601));
    assertEquals(0, first.keptBytes());
    assertTrue(called(first, 400));
    assertTrue(called(first, 601));
    assertTrue(called(first, 300));
    assertEquals(400, first.keptBytes());
    assertTrue(first.take(300));
    assertTrue(first.keep(500));
    assertEquals(500, first.keptBytes());
  }

  @Test
  void aSlotKeepsWhatIsLeftOfACallThatTookMore() {
    assertTrue(first.take(900));
    assertTrue(first.keep(450));
    first.release();
    assertEquals(450, first.keptBytes());
  }

  @Test
  void whatSlotsKeepTogetherIsBoundedAndCanBeGivenBack() {
    assertTrue(called(first, 600));
    assertTrue(called(second, 400));
    assertFalse(called(third, 1));
    assertEquals(0, third.keptBytes());
    first.giveBack();
    first.giveBack();
    assertEquals(0, first.keptBytes());
    assertTrue(called(third, 600));
    assertFalse(called(first, 1));
    assertTrue(called(second, 400));
  }

  /** A call as it comes and goes; whether its slot kept what it had, or had too much for that. */
  private static boolean called(ScratchBudget.Share share, long bytes) {
    assertTrue(share.take(bytes));
    boolean kept = share.keep(/* heldBytes= */ 0);
    share.release();
    return kept;
  }
}
