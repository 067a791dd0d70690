package io.kvsep.internal.compaction;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.internal.version.VersionEdit;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a store that nobody writes to brings down. */
final class IdleCompactionPickerTest extends PickerFixture {
  private final IdleCompactionPicker settling = new IdleCompactionPicker(picker, config);

  IdleCompactionPickerTest() throws IOException {}

  @Test
  void aLevelSettlesWhenThatRewritesLittleMoreThanItBringsDown() {
    assertEquals(IdleCompactionPicker.NO_LEVEL, settlingLevel());
    table(6, "a", "z", 2000);
    assertEquals(IdleCompactionPicker.NO_LEVEL, settlingLevel());
    table(0, "a", "c", 150);
    assertEquals(IdleCompactionPicker.NO_LEVEL, settlingLevel());
    assertEquals(
        0, settling.level(versions.current(), Set.of(), Set.of(), /* affordableBytes= */ 2000));
    assertEquals(
        IdleCompactionPicker.NO_LEVEL,
        settling.level(versions.current(), Set.of(), Set.of(), /* affordableBytes= */ 1999));
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
    assertEquals(IdleCompactionPicker.NO_LEVEL, settlingLevel());
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
    assertEquals(5, settling.level(versions.current(), files(last), Set.of(), 0));
    // Part of it can go.
    table(5, "zz", "zzz", 1);
    assertEquals(0, settling.level(versions.current(), files(last), Set.of(), 0));
  }

  /** As long as the store is open nothing else would settle in it. */
  @Test
  void aLevelThatOnlyDamagedTablesKeepWhereItIsIsPassedOver() {
    long damaged = table(6, "a", "k", 300);
    long above = table(5, "b", "c", 200);
    long upper = table(1, "m", "n", 100);
    long middle = table(2, "p", "q", 100);
    assertEquals(1, levelBeside(damaged));
    assertPlan(plan(1, damaged), 1, 2, Set.of(upper), Set.of());
    versions.apply(new VersionEdit().removeTable(1, upper));
    assertEquals(2, levelBeside(damaged));
    assertPlan(plan(2, damaged), 2, 3, Set.of(middle), Set.of());
    versions.apply(new VersionEdit().removeTable(2, middle));
    assertEquals(IdleCompactionPicker.NO_LEVEL, levelBeside(damaged));
    assertFalse(settling.mayGoDown(versions.current(), 5, files(damaged)));

    // One that is busy besides is waited for, if it is what is in the way.
    long free = table(5, "x", "y", 200);
    assertEquals(5, levelBeside(damaged));
    assertEquals(5, settling.level(versions.current(), files(damaged, free), files(damaged), 0));
    assertEquals(
        IdleCompactionPicker.NO_LEVEL,
        settling.level(versions.current(), files(damaged, free), files(damaged, free), 0));
    assertNull(settling.pick(versions.current(), 5, files(damaged, free)));
    assertPlan(plan(5, damaged), 5, 6, Set.of(free), Set.of());
    // And one that is damaged itself stays.
    assertEquals(IdleCompactionPicker.NO_LEVEL, levelBeside(above, free));
  }

  @Test
  void tablesOfLevelZeroAloneSettleOnlyIfTheyAreSeveral() {
    table(0, "a", "c", 150);
    assertEquals(IdleCompactionPicker.NO_LEVEL, settlingLevel());
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
    assertNull(settling.pick(versions.current(), 5, Set.of()));
  }

  @Test
  void tablesOfLevelZeroAboveVeryManyGoWhereOrdinaryCompactionsPutThem() {
    long[] last = tables(6, 10, 500);
    long wide = table(0, "a", "z", 3);
    long affordable = versions.current().levelBytes(6);
    assertEquals(0, settling.level(versions.current(), Set.of(), Set.of(), affordable));
    assertEquals(5, picker.baseLevel(versions.current()));
    assertPlan(settling(0), 0, 5, Set.of(wide), Set.of());
    // As much as a step may rewrite, all at once.
    versions.apply(new VersionEdit().removeTable(6, last[0]).removeTable(6, last[1]));
    assertPlan(settling(0), 0, 6, Set.of(wide), numbers(versions.current().level(6)));
  }

  @Test
  void aTableAboveVeryManyIsCutWhereItIs() {
    tables(6, 50, 500);
    long wide = table(5, "a", "z", 200);
    long affordable = versions.current().levelBytes(6);
    assertEquals(5, settling.level(versions.current(), Set.of(), Set.of(), affordable));
    CompactionPlan cut = settling(5);
    assertPlan(cut, 5, 5, Set.of(wide), Set.of());
    assertFalse(cut.move());
    assertFalse(cut.bottom());
    // In front of every eighth table.
    assertEquals(
        List.of("d08", "d16", "d24", "d32", "d40", "d48"),
        cut.cuts().stream().map(key -> new String(key, StandardCharsets.UTF_8)).toList());

    versions.apply(new VersionEdit().removeTable(5, wide));
    long piece = table(5, "d08", "d15x", 30);
    assertPlan(
        settling(5), 5, 6, Set.of(piece), numbers(versions.current().level(6).subList(8, 16)));
  }

  @Test
  void aTableThatCannotBeCutStaysAndOthersGo() {
    table(6, "a", "b", 4000);
    table(6, "c", "d", 4000);
    long ranges = tableWithRange(5, "a", "d", 100);
    long affordable = versions.current().levelBytes(6);
    assertNull(settling.pick(versions.current(), 5, Set.of()));
    assertEquals(
        IdleCompactionPicker.NO_LEVEL,
        settling.level(versions.current(), Set.of(), Set.of(), affordable));
    long above = table(4, "a", "b", 100);
    assertEquals(4, settling.level(versions.current(), Set.of(), Set.of(), affordable));
    assertPlan(settling(4), 4, 5, Set.of(above), Set.of(ranges));
    long other = table(5, "e", "f", 100);
    assertTrue(settling(5).move());
    assertEquals(Set.of(other), numbers(settling(5).inputs()));
    // One table below is never too many.
    versions.apply(new VersionEdit().removeTable(5, ranges).removeTable(5, other));
    long narrow = tableWithRange(5, "a", "b", 100);
    assertEquals(Set.of(narrow), numbers(settling(5).inputs()));
    assertEquals(6, settling(5).outputLevel());
  }

  /** What is above would go first, but cannot, and is not waited for. */
  @Test
  void aTableThatCannotBeCutKeepsNothingBelowItFromGoingDown() {
    table(6, "a", "c", 3000);
    table(6, "d", "f", 3000);
    table(5, "a", "c", 2500);
    table(5, "d", "f", 2500);
    tableWithRange(4, "a", "z", 10);
    assertNull(settling.pick(versions.current(), 4, Set.of()));
    assertEquals(5, settlingLevel());
    assertEquals(6, settling(5).outputLevel());
  }

  /** Tables from d00 to d00x, from d01 to d01x, and so on; their numbers. */
  private long[] tables(int level, int count, long bytes) {
    long[] numbers = new long[count];
    for (int i = 0; i < count; i++) {
      String key = String.format(Locale.ROOT, "d%02d", i);
      numbers[i] = table(level, key, key + "x", bytes);
    }
    return numbers;
  }

  private int levelBeside(long... damaged) {
    return settling.level(versions.current(), files(damaged), files(damaged), 0);
  }

  private CompactionPlan plan(int level, long... untouchable) {
    return Objects.requireNonNull(settling.pick(versions.current(), level, files(untouchable)));
  }

  private int settlingLevel() {
    return settling.level(versions.current(), Set.of(), Set.of(), /* affordableBytes= */ 0);
  }

  private CompactionPlan settling(int level) {
    return Objects.requireNonNull(settling.pick(versions.current(), level, Set.of()));
  }
}
