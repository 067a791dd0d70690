package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a store that nobody writes to brings down. */
final class SettlingPickerTest extends PickerFixture {
  SettlingPickerTest() throws IOException {}

  @Test
  void aLevelSettlesWhenThatRewritesLittleMoreThanItBringsDown() {
    assertEquals(CompactionPicker.NO_LEVEL, settlingLevel());
    table(6, "a", "z", 2000);
    assertEquals(CompactionPicker.NO_LEVEL, settlingLevel());
    table(0, "a", "c", 150);
    assertEquals(CompactionPicker.NO_LEVEL, settlingLevel());
    assertEquals(
        0, picker.settlingLevel(versions.current(), Set.of(), /* affordableBytes= */ 2000));
    assertEquals(
        CompactionPicker.NO_LEVEL,
        picker.settlingLevel(versions.current(), Set.of(), /* affordableBytes= */ 1999));
    table(0, "d", "f", 50);
    assertEquals(0, settlingLevel());
    table(4, "f", "k", 100);
    assertEquals(0, settlingLevel());
    table(4, "m", "p", 100);
    // The level below is worth it now, and this one goes down with it.
    assertEquals(0, settlingLevel());
  }

  @Test
  void valuesInTheLogThatCameWithALevelMakeItWorthMore() {
    table(6, "a", "z", 2000, 100, 100, 100_000);
    table(0, "a", "c", 100, 10, 10, 3000);
    table(0, "d", "f", 10, 1, 1, 889);
    assertEquals(CompactionPicker.NO_LEVEL, settlingLevel());
    table(0, "g", "h", 1);
    assertEquals(0, settlingLevel());
  }

  @Test
  void littleThatIsAboveASettlingLevelGoesDownWithItIfThatAtMostDoublesTheWork() {
    long last = table(6, "a", "z", 300);
    long above = table(5, "a", "z", 200);
    assertEquals(5, settlingLevel());
    long few = table(0, "b", "c", 1);
    assertEquals(0, settlingLevel());
    assertPlan(settling(0), 0, 5, Set.of(few), Set.of(above));
    // All that is rewritten on the way counts, whichever steps it takes.
    long between = table(3, "d", "e", 100);
    assertEquals(0, settlingLevel());
    assertPlan(settling(0), 0, 3, Set.of(few), Set.of(between));
    versions.apply(new VersionEdit().removeTable(3, between));
    table(3, "d", "e", 101);
    assertEquals(3, settlingLevel());
    versions.apply(new VersionEdit().removeTable(6, last));
    table(6, "a", "z", 2001);
    // The last level is not worth it any more, but level 5 is, for level 3.
    assertEquals(0, settlingLevel());
  }

  @Test
  void nothingGoesDownForALevelThatIsStuck() {
    long last = table(6, "a", "z", 300);
    table(5, "a", "k", 200);
    table(0, "b", "c", 1);
    assertEquals(0, settlingLevel());
    assertEquals(5, picker.settlingLevel(versions.current(), files(last), 0));
    // Part of it can go.
    table(5, "zz", "zzz", 1);
    assertEquals(0, picker.settlingLevel(versions.current(), files(last), 0));
  }

  @Test
  void tablesOfLevelZeroAloneSettleOnlyIfTheyAreSeveral() {
    table(0, "a", "c", 150);
    assertEquals(CompactionPicker.NO_LEVEL, settlingLevel());
    table(0, "b", "d", 50);
    assertEquals(0, settlingLevel());
  }

  @Test
  void aSettlingLevelGoesDownTableByTableUntilItIsEmpty() {
    long last = table(6, "a", "k", 400);
    long first = table(5, "f", "h", 100);
    long second = table(5, "m", "z", 200);
    // Nothing is due by itself.
    assertNull(picker.pick(versions.current(), Set.of(), 0, 100));

    // The one below which nothing lies need not be read.
    CompactionPlan moved = settling(5);
    assertTrue(moved.move());
    assertEquals(Set.of(second), numbers(moved.inputs()));
    versions.apply(new VersionEdit().removeTable(5, second));
    CompactionPlan merged = settling(5);
    assertEquals(Set.of(first), numbers(merged.inputs()));
    assertEquals(Set.of(last), numbers(merged.overlaps()));
    assertEquals(6, merged.outputLevel());
    versions.apply(new VersionEdit().removeTable(5, first));
    assertNull(picker.pickSettling(versions.current(), 5, Set.of()));
  }

  private int settlingLevel() {
    return picker.settlingLevel(versions.current(), Set.of(), /* affordableBytes= */ 0);
  }

  private CompactionPlan settling(int level) {
    return Objects.requireNonNull(picker.pickSettling(versions.current(), level, Set.of()));
  }
}
