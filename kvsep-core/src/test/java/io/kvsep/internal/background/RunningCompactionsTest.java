package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.ManualScheduler;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** No two running compactions share a table or write among each other's tables. */
final class RunningCompactionsTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final RunningCompactions running =
      new RunningCompactions(
          new CurrentReadState(
              epochs,
              () -> {
                throw new AssertionError("no call asks for a version");
              },
              scheduler,
              new FailureState()));

  @AfterEach
  void free() {
    epochs.free();
  }

  @Test
  void onePlanMayNotWriteAmongTheTablesOfAnother() {
    try (BareVersions versions = new BareVersions()) {
      List<TableFile> tables = tables(versions, 3);
      CompactionPlan outer = plan(List.of(tables.get(0), tables.get(2)), List.of());
      CompactionPlan inner = plan(List.of(tables.get(1)), List.of());
      assertSame(outer, running.take(2, busy -> outer));
      assertNull(running.take(2, busy -> inner));
      assertNull(running.takeAsked(busy -> inner));
      running.release(outer);
      assertSame(inner, running.takeAsked(busy -> inner));
      assertNull(running.take(2, busy -> outer));
      running.release(inner);
    }
  }

  @Test
  void tablesAreTakenUntilTheyAreGivenBack() {
    try (BareVersions versions = new BareVersions()) {
      List<TableFile> tables = tables(versions, 4);
      CompactionPlan first = plan(List.of(tables.get(0)), List.of(tables.get(1)));
      CompactionPlan second = plan(List.of(tables.get(3)), List.of());
      assertSame(first, running.take(3, busy -> first));
      assertEquals(Set.copyOf(tables.subList(0, 2)), taken(3));
      assertSame(second, running.take(3, busy -> second));
      assertEquals(Set.of(tables.get(0), tables.get(1), tables.get(3)), taken(3));
      assertEquals(Set.of(), taken(2), "as many as may run are at work");
      running.release(first);
      assertEquals(Set.of(tables.get(3)), taken(2));
      running.release(second);
      assertEquals(Set.of(), taken(1));
    }
  }

  @Test
  void plansOfCallersDoNotCountButTheirTablesAreTaken() {
    try (BareVersions versions = new BareVersions()) {
      List<TableFile> tables = tables(versions, 2);
      CompactionPlan asked = plan(List.of(tables.get(0)), List.of());
      CompactionPlan other = plan(List.of(tables.get(1)), List.of());
      assertSame(asked, running.takeAsked(busy -> asked));
      assertEquals(Set.of(tables.get(0)), taken(1));
      assertEquals(Set.of(tables.get(0)), running.askedTables(plan -> true));
      assertEquals(Set.of(), running.askedTables(plan -> false));
      assertSame(other, running.take(1, busy -> other));
      assertNull(running.take(1, busy -> null));
      assertEquals(Set.of(tables.get(0)), running.askedTables(plan -> true));
      List<CompactionPlan> seen = new ArrayList<>();
      running.beside(seen::addAll);
      assertEquals(List.of(asked, other), seen);
      running.release(other);
      running.release(asked);
      assertEquals(Set.of(), taken(1));
      assertEquals(Set.of(), running.askedTables(plan -> true));
    }
  }

  /** What a chooser must leave alone; nothing if no thread may choose. */
  private Set<TableFile> taken(int runningMax) {
    Set<TableFile> taken = new HashSet<>();
    assertNull(
        running.take(
            runningMax,
            busy -> {
              taken.addAll(busy);
              return null;
            }));
    return taken;
  }

  private static List<TableFile> tables(BareVersions versions, int count) {
    for (int key = 0; key < count; key++) {
      byte[] only = {1, (byte) key};
      versions.set.apply(new VersionEdit().addTable(6, versions.meta(only, only, 100, List.of())));
    }
    return versions.current().level(6);
  }

  private static CompactionPlan plan(List<TableFile> inputs, List<TableFile> overlaps) {
    return new CompactionPlan(5, 6, inputs, overlaps, /* bottom= */ true, /* move= */ false);
  }
}
