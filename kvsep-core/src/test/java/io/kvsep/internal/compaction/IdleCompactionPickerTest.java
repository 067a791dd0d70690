package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a store that is not written to brings down. */
final class IdleCompactionPickerTest extends PickerFixture {
  private final IdleCompactionPicker idle = new IdleCompactionPicker(picker);

  IdleCompactionPickerTest() throws IOException {}

  @Test
  void tablesGoDownThatRewriteAtMostTenTimesAsMuch() {
    assertNull(idle());
    table(6, "a", "z", 2000);
    assertNull(idle());
    long first = table(0, "a", "c", 150);
    assertNull(idle());
    long second = table(0, "b", "f", 50);
    assertPlan(step(), 0, 6, Set.of(first, second), numbers(versions.current().level(6)));
  }

  @Test
  void aTableGoesDownThatIsWorthItThoughItsLevelIsNot() {
    long last = table(6, "a", "c", 1000);
    table(6, "d", "z", 4000);
    long narrow = table(5, "a", "b", 100);
    table(5, "d", "z", 100);
    assertPlan(step(), 5, 6, Set.of(narrow), Set.of(last));
    versions.apply(new VersionEdit().removeTable(5, narrow));
    assertNull(idle());
  }

  @Test
  void valuesInTheLogThatCameWithATableMakeItWorthMore() {
    table(6, "a", "z", 2000, 100, 100, 100_000);
    table(0, "a", "c", 100, 10, 10, 3000);
    table(0, "b", "f", 10, 1, 1, 889);
    assertNull(idle());
    table(0, "g", "h", 1);
    assertEquals(0, step().inputLevel());
    assertEquals(3, step().inputs().size());
  }

  @Test
  void littleAboveALevelThatGoesDownGoesWithIt() {
    table(6, "a", "z", 300);
    long above = table(5, "a", "z", 200);
    long few = table(0, "b", "c", 1);
    assertPlan(step(), 0, 5, Set.of(few), Set.of(above));
    table(6, "zz", "zzz", 2000);
    assertEquals(5, step().inputLevel());
  }

  @Test
  void aTableOfLevelZeroAloneStays() {
    table(0, "a", "c", 150);
    assertNull(idle());
    table(0, "b", "d", 50);
    assertPlan(step(), 0, 6, numbers(versions.current().level(0)), Set.of());
  }

  @Test
  void whatNothingLiesBelowIsMoved() {
    long last = table(6, "a", "k", 400);
    long first = table(5, "f", "h", 100);
    long second = table(5, "m", "z", 200);
    assertTrue(step().move());
    assertPlan(step(), 5, 6, Set.of(second), Set.of());
    versions.apply(new VersionEdit().removeTable(5, second));
    assertPlan(step(), 5, 6, Set.of(first), Set.of(last));
    assertNull(idle.pick(versions.current(), files(last)));
  }

  @Test
  void aStepIsNotLong() {
    table(6, "a", "k", 2500);
    long last = table(6, "m", "z", 2500);
    long wide = table(5, "a", "z", 1000);
    assertNull(idle());
    table(0, "a", "k", 400);
    table(0, "a", "z", 300);
    assertPlan(step(), 0, 5, numbers(versions.current().level(0)), Set.of(wide));
    versions.apply(new VersionEdit().removeTable(6, last));
    assertEquals(0, step().inputLevel());
  }

  private @Nullable CompactionPlan idle() {
    return idle.pick(versions.current(), Set.of());
  }

  private CompactionPlan step() {
    return Objects.requireNonNull(idle());
  }
}
