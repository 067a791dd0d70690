package io.kvsep.internal.background;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.compaction.CompactionPlan;
import io.kvsep.internal.compaction.FullyDeletedTables.Covered;
import io.kvsep.internal.concurrent.Scheduler.Lane;
import io.kvsep.internal.io.FailureState;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.version.TableFile;
import io.kvsep.internal.version.VersionEdit;
import io.kvsep.internal.view.CurrentReadState;
import io.kvsep.testing.BareVersions;
import io.kvsep.testing.ManualScheduler;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** Who wants all tables for himself, and who wants nobody to have that, wait for each other. */
final class RunningCompactionsTest {
  private final MemoryLedger ledger = new MemoryLedger();
  private final Epochs<ReadContext> epochs = new Epochs<>(() -> new ReadContext(ledger));
  private final ManualScheduler scheduler = new ManualScheduler(1, 1);
  private final RunningCompactions running =
      new RunningCompactions(
          new CurrentReadState(
              epochs,
              () -> {
                throw new AssertionError("nobody asks for a version");
              },
              scheduler,
              new FailureState()));
  private int pulses;

  @AfterEach
  void free() {
    epochs.free();
  }

  @Test
  void oneWaitsForTheOther() {
    running.pause();
    scheduler.execute(Lane.COMPACTION, running::resume);
    running.keepGoing(() -> pulses++);
    assertEquals(1, pulses);
    int[] ran = new int[1];
    running.beside(plans -> ran[0]++);
    assertEquals(1, ran[0]);
    boolean[] allowed = new boolean[1];
    scheduler.execute(
        Lane.COMPACTION,
        () -> {
          allowed[0] = true;
          running.allowPause();
        });
    running.pause();
    assertTrue(allowed[0], "paused while somebody keeps them going");
    assertThrows(IllegalStateException.class, () -> running.beside(plans -> ran[0]++));
    running.resume();
  }

  @Test
  void whoWaitsMayGiveUp() {
    running.pause();
    assertThrows(
        StoreClosedException.class,
        () ->
            running.keepGoing(
                () -> {
                  throw new StoreClosedException("on purpose");
                }));
    running.resume();
    running.pause();
    running.resume();
    running.keepGoing(() -> pulses++);
    running.allowPause();
    assertEquals(0, pulses);
  }

  @Test
  void whoCannotWaitForThoseAtWorkLetsOthersBegin() {
    CompactionPlan plan = plan(List.of(), List.of());
    assertSame(plan, running.take(1, busy -> plan));
    scheduler.execute(
        Lane.COMPACTION,
        () -> {
          throw new OutOfMemoryError("as a test wants it");
        });
    assertThrows(OutOfMemoryError.class, running::pause);
    assertNull(running.take(1, busy -> plan));
    running.release(plan);
    assertSame(plan, running.take(1, busy -> plan));
    running.release(plan);
    running.pause();
    running.resume();
  }

  @Test
  void tablesAreTakenUntilTheyAreGivenBack() {
    try (BareVersions versions = new BareVersions()) {
      List<TableFile> tables = tables(versions, 4);
      CompactionPlan first = plan(List.of(tables.get(0)), List.of(tables.get(1)));
      List<Covered> covered = List.of(new Covered(6, tables.get(3)));
      assertSame(first, running.take(3, busy -> first));
      assertEquals(Set.copyOf(tables.subList(0, 2)), taken(3));
      assertEquals(covered, running.takeCovered(/* besidePause= */ false, busy -> covered));
      assertEquals(Set.of(tables.get(0), tables.get(1), tables.get(3)), taken(3));
      assertEquals(Set.of(), taken(2), "as many as may run are at work");
      running.release(first);
      assertEquals(Set.of(tables.get(3)), taken(2));
      running.releaseCovered(covered);
      assertEquals(Set.of(), taken(1));
      running.pause();
      running.resume();
    }
  }

  @Test
  void othersBeginBesideAPlanOfWhoeverPausedThem() {
    try (BareVersions versions = new BareVersions()) {
      List<TableFile> tables = tables(versions, 2);
      CompactionPlan alone = plan(List.of(tables.get(0)), List.of());
      CompactionPlan other = plan(List.of(tables.get(1)), List.of());
      running.pause();
      assertNull(running.take(1, busy -> other));
      running.beginBeside(alone);
      // It does not count, but its tables are taken.
      assertEquals(Set.of(tables.get(0)), taken(1));
      assertSame(other, running.take(1, busy -> other));
      assertNull(running.take(1, busy -> other));
      assertThrows(IllegalStateException.class, () -> running.beside(plans -> pulses++));
      boolean[] released = new boolean[1];
      scheduler.execute(
          Lane.COMPACTION,
          () -> {
            assertNull(running.take(2, busy -> other), "none begins any more");
            released[0] = true;
            running.release(other);
          });
      running.endBeside(alone);
      assertTrue(released[0]);
      assertNull(running.take(1, busy -> other));
      running.resume();
      assertEquals(Set.of(), taken(1));
    }
  }

  /** What whoever chooses is told to leave alone; nothing if nobody may choose. */
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
