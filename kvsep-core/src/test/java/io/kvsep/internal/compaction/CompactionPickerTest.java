package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.Version;
import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Choices by what levels and tables hold. */
final class CompactionPickerTest extends PickerFixture {
  CompactionPickerTest() throws IOException {}

  @Test
  void anEmptyStoreHasNothingToDo() {
    assertNull(pick());
    assertEquals(6, picker.baseLevel(versions.current(), Set.of()));
    for (int level = 0; level < 6; level++) {
      assertEquals(0, picker.score(versions.current(), level, 6, Long.MAX_VALUE));
    }
  }

  @Test
  void baseLevelRisesWithTheLargestLevel() {
    long[][] cases = {
      {1, 6},
      {1000, 6},
      {1001, 5},
      {10_000, 5},
      {10_010, 4},
      {100_100, 3},
      {1_001_000, 2},
      {10_010_000, 1},
      {100_100_000, 1},
      {1L << 40, 1}
    };
    for (long[] expected : cases) {
      long number = table(6, "a", "b", expected[0]);
      assertEquals(expected[1], picker.baseLevel(versions.current(), Set.of()));
      versions.apply(new VersionEdit().removeTable(6, number));
    }
  }

  @Test
  void aLongLevelZeroNeedsNoLevelAboveOneFourTimesItsLength() {
    table(6, "a", "b", 100_000);
    assertEquals(4, picker.baseLevel(versions.current(), Set.of()));
    table(0, "a", "b", 2499);
    assertEquals(4, picker.baseLevel(versions.current(), Set.of()));
    table(0, "a", "b", 1);
    assertEquals(5, picker.baseLevel(versions.current(), Set.of()));
    table(4, "a", "b", 1);
    assertEquals(4, picker.baseLevel(versions.current(), Set.of()));
  }

  @Test
  void baseLevelIsNeverBelowALevelThatHoldsTables() {
    table(6, "a", "b", 500);
    table(3, "y", "z", 1);
    assertEquals(3, picker.baseLevel(versions.current(), Set.of()));
    for (int i = 0; i < 4; i++) {
      table(0, "a", "b", 100);
    }
    // Level 3 comes first: with any score it is far above the target of a level not in use.
    versions.apply(
        new VersionEdit().removeTable(3, versions.current().level(3).get(0).meta().number()));
    assertEquals(6, picked().outputLevel());
  }

  @Test
  void levelZeroIsDueFromItsNumberOfTablesOn() {
    Set<Long> numbers = new HashSet<>();
    for (int i = 0; i < 3; i++) {
      numbers.add(table(0, "a", "b", 1 << 30));
      assertNull(pick());
    }
    numbers.add(table(0, "a", "b", 1));
    assertPlan(picked(), 0, 6, numbers, Set.of());
  }

  @Test
  void oldestTableOfLevelZeroTakesAlongAllThatItOverlapsDirectlyOrNot() {
    long oldest = table(0, "d", "f", 200);
    table(0, "a", "b", 200);
    long second = table(0, "e", "k", 200);
    long third = table(0, "k", "m", 200);
    table(0, "n", "q", 200);
    long fourth = table(0, "c", "d", 200);
    long below = table(6, "l", "z", 200);
    long edge = table(6, "bb", "c", 200);
    table(6, "a", "ba", 200);
    CompactionPlan plan = picked();
    assertPlan(plan, 0, 6, Set.of(oldest, second, third, fourth), Set.of(below, edge));
    assertTrue(plan.bottom());
    assertFalse(plan.move());
  }

  @Test
  void busyTableOfLevelZeroOrInTheWayHoldsLevelZeroBack() {
    for (int i = 0; i < 4; i++) {
      table(0, "a", "c", 200);
    }
    long apart = table(0, "x", "z", 200);
    long below = table(6, "b", "d", 200);
    assertNull(pick(apart));
    assertNull(pick(below));
    assertPlan(picked(), 0, 6, numbers(versions.current().level(0).subList(1, 5)), Set.of(below));
  }

  @Test
  void loneTableMovesWhereNothingIsInItsWay() {
    long oldest = table(0, "a", "c", 200);
    table(0, "d", "e", 200);
    table(0, "d", "e", 200);
    table(0, "d", "e", 200);
    CompactionPlan plan = picked();
    assertPlan(plan, 0, 6, Set.of(oldest), Set.of());
    assertTrue(plan.move());
    long below = table(6, "c", "d", 200);
    plan = picked();
    assertPlan(plan, 0, 6, Set.of(oldest), Set.of(below));
    assertFalse(plan.move());
  }

  @Test
  void tablesThatOverlapEachOtherCannotMove() {
    for (int i = 0; i < 4; i++) {
      table(0, "a", "c", 200);
    }
    assertFalse(picked().move());
  }

  @Test
  void tableThatRewritesLeastForItsLengthGoesFirst() {
    // Target of level 5: a tenth of the last level.
    table(6, "a", "c", 9000);
    long cheap = table(6, "d", "f", 1000);
    table(6, "g", "i", 10_000);
    table(5, "b", "b1", 1000);
    long input = table(5, "e", "e1", 1000);
    table(5, "h", "h1", 1000);
    CompactionPlan plan = picked();
    assertPlan(plan, 5, 6, Set.of(input), Set.of(cheap));
    assertTrue(plan.bottom());
    // Where that one is being worked on, the next best.
    assertPlan(picked(cheap), 5, 6, Set.of(input - 1), Set.of(cheap - 1));
    assertPlan(picked(input), 5, 6, Set.of(input - 1), Set.of(cheap - 1));
    assertNull(pick(numbers(versions.current().level(5)).stream().mapToLong(n -> n).toArray()));
  }

  @Test
  void tableWithNothingBelowMoves() {
    table(6, "a", "c", 9000);
    table(5, "a", "b", 1000);
    long free = table(5, "d", "e", 1000);
    CompactionPlan plan = picked();
    assertPlan(plan, 5, 6, Set.of(free), Set.of());
    assertTrue(plan.move());
  }

  @Test
  void levelsBelowTheirTargetAreLeftAlone() {
    table(6, "a", "c", 20_000);
    long number = table(5, "a", "b", 1999);
    assertNull(pick());
    assertEquals(1999 / 2000.0, picker.score(versions.current(), 5, 5, Long.MAX_VALUE));
    versions.apply(new VersionEdit().removeTable(5, number));
    table(5, "a", "b", 2000);
    assertTrue(pick() != null);
  }

  @Test
  void mostUrgentLevelGoesFirstAndTheNextOneWhenItCannot() {
    table(6, "a", "z", 9000);
    long urgent = table(5, "a", "b", 9000);
    for (int i = 0; i < 4; i++) {
      table(0, "x", "y", 10);
    }
    assertEquals(5, picked().inputLevel());
    assertEquals(0, picked(urgent).inputLevel());
    assertEquals(5, picked(urgent).outputLevel());
  }

  @Test
  void bottomIsSaidOnlyWhereNoLevelBelowHoldsAnyOfTheKeys() {
    table(6, "m", "n", 9000);
    for (int i = 0; i < 4; i++) {
      table(0, "a", "c", 10);
    }
    CompactionPlan plan = picked();
    assertEquals(5, plan.outputLevel());
    assertTrue(plan.bottom());
    // What level 5 adds to the output reaches over a table of level 6.
    table(5, "c", "m", 10);
    plan = picked();
    assertFalse(plan.bottom());
  }

  private @Nullable CompactionPlan step(int level, long... busy) {
    return picker.pickStep(
        versions.current(), level, Long.MAX_VALUE, files(busy), /* blocked= */ Set.of());
  }

  private CompactionPlan stepped(int level, long... busy) {
    CompactionPlan plan = step(level, busy);
    assertTrue(plan != null);
    return plan;
  }

  @Test
  void stepsGoIntoTheNextLevelThatHoldsAnything() {
    assertNull(step(0));
    long first = table(2, "a", "c", 10);
    long second = table(2, "d", "f", 10);
    CompactionPlan plan = stepped(2);
    assertPlan(plan, 2, 6, Set.of(first, second), Set.of());
    assertFalse(plan.move());
    assertTrue(plan.bottom());
    long between = table(4, "b", "e", 10);
    table(4, "x", "y", 10);
    table(6, "c", "c", 10);
    plan = stepped(2);
    assertPlan(plan, 2, 4, Set.of(first, second), Set.of(between));
    assertFalse(plan.bottom());
    assertNull(step(2, between));
    assertNull(step(3));
  }

  @Test
  void stepsAreBounded() {
    long first = table(2, "a", "b", 2000);
    long second = table(2, "c", "d", 1000);
    long third = table(2, "e", "f", 1000);
    long below = table(4, "b", "c", 1000);
    assertPlan(stepped(2), 2, 4, Set.of(first, second), Set.of(below));
    long wide = table(4, "d", "e", 5000);
    assertPlan(stepped(2), 2, 4, Set.of(first), Set.of(below));
    assertPlan(stepped(2, first, below), 2, 4, Set.of(third), Set.of(wide));
  }

  @Test
  void stepsGoPastTablesThatAreInTheWay() {
    long first = table(2, "a", "b", 10);
    long second = table(2, "c", "d", 10);
    long third = table(2, "e", "f", 10);
    long fourth = table(2, "g", "h", 10);
    long below = table(4, "c", "c", 10);
    assertPlan(stepped(2), 2, 4, Set.of(first, second, third, fourth), Set.of(below));
    assertPlan(stepped(2, third), 2, 4, Set.of(first, second), Set.of(below));
    assertPlan(stepped(2, first, below), 2, 4, Set.of(third, fourth), Set.of());
    assertNull(step(2, first, third, fourth, below));
  }

  @Test
  void stepsLeaveNewerTablesWhereTheyAre() {
    long first = table(2, "c", "d", 10);
    long newer = table(2, "a", "b", 10);
    long zero = table(0, "x", "y", 10);
    Version version = versions.current();
    // Numbers of tables are sequence numbers here.
    assertNull(picker.pickStep(version, 2, first - 1, Set.of(), Set.of()));
    CompactionPlan plan = picker.pickStep(version, 2, newer - 1, Set.of(), Set.of());
    assertTrue(plan != null);
    assertPlan(plan, 2, 6, Set.of(first), Set.of());
    assertNull(picker.pickStep(version, 0, zero - 1, Set.of(), Set.of()));
    assertTrue(picker.pickStep(version, 0, zero, Set.of(), Set.of()) != null);
  }

  @Test
  void plansClashThatMayWriteAmongTablesOfEachOther() {
    table(5, "a", "b", 10);
    long last = table(5, "m", "n", 10);
    CompactionPlan step = stepped(5);
    versions.apply(new VersionEdit().removeTable(5, last));
    table(5, "d", "e", 10);
    long[] taken = step.inputs().stream().mapToLong(table -> table.meta().number()).toArray();
    CompactionPlan gap = stepped(5, taken[0]);
    assertTrue(gap.clashes(step));
    assertTrue(step.clashes(gap));
    table(4, "d", "e", 10);
    assertFalse(stepped(4).clashes(step), "another level");
    table(5, "x", "y", 10);
    CompactionPlan behind = stepped(5, numbers(gap.inputs()).iterator().next(), taken[0]);
    assertFalse(behind.clashes(step));
  }

  @Test
  void levelZeroGoesAboveALevelWithABlockedTable() {
    long blocked = table(6, "b", "b", 10);
    Set<Long> inputs = new HashSet<>();
    for (int i = 0; i < 4; i++) {
      inputs.add(table(0, "a", "c", 10));
    }
    assertPlan(pickedBeside(blocked), 0, 5, inputs, Set.of());
    long next = table(5, "c", "d", 10);
    assertPlan(pickedBeside(blocked), 0, 5, inputs, Set.of(next));
    assertPlan(pickedBeside(blocked, next), 0, 4, inputs, Set.of());
    long highest = table(1, "a", "b", 10);
    assertEquals(1, picker.baseLevel(versions.current(), files(highest)));
  }

  @Test
  void oldestTablesOfLevelZeroGoDownAloneIfAllOfItCannot() {
    table(6, "y", "z", 500);
    long blocked = table(1, "b", "b", 10);
    long oldest = table(0, "x", "z", 10);
    long newer = table(0, "y", "y", 10);
    table(0, "b", "b", 10);
    table(0, "b", "b", 10);
    assertPlan(pickedBeside(), 0, 1, numbers(versions.current().level(0)), Set.of(blocked));
    CompactionPlan plan =
        picker.pick(versions.current(), files(blocked), Set.of(), 0, Long.MAX_VALUE);
    assertTrue(plan != null);
    assertPlan(plan, 0, 1, Set.of(oldest, newer), Set.of());
  }

  private CompactionPlan pickedBeside(long... blocked) {
    CompactionPlan plan =
        picker.pick(versions.current(), files(blocked), files(blocked), 0, Long.MAX_VALUE);
    assertTrue(plan != null);
    return plan;
  }

  /** All rewrites, one behind the other. */
  private List<CompactionPlan> rewrites(Predicate<TableFile> stale, long... busy) {
    List<CompactionPlan> plans = new ArrayList<>();
    byte[] after = {};
    CompactionPlan plan = picker.pickRewrite(versions.current(), after, files(busy), stale);
    while (plan != null) {
      plans.add(plan);
      plan = picker.pickRewrite(versions.current(), plan.largestKey(), files(busy), stale);
    }
    return plans;
  }

  @Test
  void rewritesLeaveBusyTablesOut() {
    long first = table(6, "a", "b", 100);
    long second = table(6, "c", "d", 100);
    long third = table(6, "e", "f", 100);
    List<CompactionPlan> plans = rewrites(table -> true, second);
    assertEquals(2, plans.size());
    assertPlan(plans.get(0), 6, 6, Set.of(first), Set.of());
    assertPlan(plans.get(1), 6, 6, Set.of(third), Set.of());
  }

  @Test
  void rewriteTakesNeighboursThatFitOneTableAndWhatIsStale() {
    long first = table(6, "a", "b", 200);
    long second = table(6, "c", "d", 300);
    long full = table(6, "e", "f", 400);
    long third = table(6, "g", "h", 101);
    long fourth = table(6, "i", "j", 600);
    List<CompactionPlan> plans = rewrites(table -> false);
    assertEquals(1, plans.size());
    assertPlan(plans.get(0), 6, 6, Set.of(first, second), Set.of());
    plans = rewrites(table -> Set.of(full, fourth).contains(table.meta().number()));
    assertEquals(3, plans.size());
    assertPlan(plans.get(1), 6, 6, Set.of(full), Set.of());
    assertPlan(plans.get(2), 6, 6, Set.of(fourth), Set.of());
    for (CompactionPlan plan : plans) {
      assertTrue(plan.bottom());
      assertFalse(plan.move());
      assertFalse(numbers(plan.inputs()).contains(third));
    }
  }

  @Test
  void smallFlushesAreMergedWithEachOtherAndASmallNeighbour() {
    long before = table(6, "a", "b", 100);
    table(6, "0", "1", 100);
    long behind = table(6, "x", "y", 130);
    Set<Long> inputs = new HashSet<>();
    for (String key : List.of("h", "f", "j", "d")) {
      inputs.add(table(0, key, key + "9", 20));
    }
    CompactionPlan plan = picked();
    assertPlan(plan, 0, 6, inputs, Set.of(before));
    assertFalse(plan.move());
    // A neighbour that is busy is not waited for.
    assertPlan(picked(before), 0, 6, inputs, Set.of());
    assertPlan(picked(behind), 0, 6, inputs, Set.of(before));
  }

  @Test
  void valuesThatMayHideAQuarterOfThoseBelowMakeALevelDue() {
    table(6, "a", "z", 100, 10, 10, 4000);
    long upper = table(5, "b", "c", 1, 1, 1, 999);
    assertEquals(999 / 1000.0, picker.score(versions.current(), 5, 5, Long.MAX_VALUE), 1e-9);
    assertNull(pick());
    versions.apply(new VersionEdit().removeTable(5, upper));
    table(5, "b", "c", 1, 1, 1, 1000);
    assertPlan(picked(), 5, 6, Set.of(upper + 1), Set.of(upper - 1));
    // Twice over is as urgent as it gets.
    table(5, "d", "e", 1, 9, 9, 9000);
    assertEquals(2, picker.score(versions.current(), 5, 5, Long.MAX_VALUE));
  }

  @Test
  void levelZeroIsDueForItsValuesWithASingleTable() {
    long below = table(6, "a", "z", 100, 10, 10, 4000);
    long only = table(0, "b", "c", 1, 1, 1, 1000);
    assertPlan(picked(), 0, 6, Set.of(only), Set.of(below));
  }

  @Test
  void levelsAboveCountToo() {
    long bottom = table(6, "a", "z", 100, 10, 10, 4000);
    long middle = table(5, "b", "c", 1, 1, 1, 300);
    table(4, "x", "y", 1, 1, 1, 300);
    assertNull(pick());
    long upper = table(0, "b", "c", 1, 1, 1, 400);
    // The lowest first: nothing above it changes what it has to rewrite.
    assertPlan(picked(), 5, 6, Set.of(middle), Set.of(bottom));
    assertNull(pick(bottom, upper));
  }

  @Test
  void tombstonesAndShortValuesCountAsWhatTheyMayReplace() {
    table(6, "a", "z", 100, 20, 10, 4000);
    // Two hundred bytes an entry, whatever half of them are.
    long four = table(5, "b", "c", 1, 4, 0, 0);
    assertNull(pick());
    versions.apply(new VersionEdit().removeTable(5, four));
    long five = table(5, "b", "c", 1, 5, 0, 0);
    assertEquals(Set.of(five), numbers(picked().inputs()));
    versions.apply(new VersionEdit().removeTable(5, five));
    // Short records over long ones: the long ones are what becomes garbage.
    long few = table(5, "b", "c", 1, 5, 5, 5);
    assertEquals(Set.of(few), numbers(picked().inputs()));
  }

  @Test
  void valuesWithNoneBelowThemFreeNothing() {
    table(6, "a", "z", 100, 10, 10, 1L << 50);
    assertNull(pick());
    table(0, "a", "z", 1, 1, 0, 0);
    assertNull(pick());
    versions.apply(
        new VersionEdit().removeTable(6, versions.current().level(6).get(0).meta().number()));
    table(6, "a", "z", 100, 10, 0, 0);
    table(0, "a", "z", 1, 10, 10, 1L << 50);
    assertNull(pick());
  }

  @Test
  void fewBytesAreNotWorthACompaction() {
    long below = table(6, "a", "z", 100, 1, 1, 10);
    table(5, "b", "c", 1, 1, 1, 99);
    assertNull(pick());
    table(5, "d", "e", 1, 1, 1, 1);
    assertEquals(Set.of(below), numbers(picked().overlaps()));
  }

  @Test
  void tableThatFreesMostForWhatIsRewrittenGoesFirst() {
    table(6, "a", "c", 100, 10, 10, 2000);
    long below = table(6, "d", "f", 300, 10, 10, 2000);
    table(5, "b", "b1", 10, 1, 1, 300);
    long most = table(5, "e", "e1", 100, 3, 3, 1200);
    assertPlan(picked(), 5, 6, Set.of(most), Set.of(below));
    long free = table(5, "x", "y", 50, 1, 1, 1);
    assertTrue(picked().move());
    assertEquals(Set.of(free), numbers(picked().inputs()));
  }

  @Test
  void levelZeroComesFirstFromTwiceItsNumberOfTablesOn() {
    table(6, "a", "z", 100, 10, 10, 4000);
    table(5, "b", "c", 1, 100, 100, 400_000);
    for (int i = 0; i < 7; i++) {
      table(0, "x", "y", 200);
    }
    assertEquals(5, picked().inputLevel());
    table(0, "x", "y", 200);
    assertEquals(0, picked().inputLevel());
  }
}
