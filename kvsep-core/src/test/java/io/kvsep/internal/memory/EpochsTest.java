package io.kvsep.internal.memory;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotSame;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.testing.Parked;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class EpochsTest {
  private final AtomicInteger contexts = new AtomicInteger();
  private final AtomicInteger freed = new AtomicInteger();
  private final Epochs<Context> epochs = new Epochs<>(Context::new);

  private final class Context implements SlotContext {
    Context() {
      contexts.incrementAndGet();
    }

    @Override
    public void free() {
      freed.incrementAndGet();
    }
  }

  @Test
  void withoutReadersWhatIsRetiredIsReleasedAtOnce() {
    AtomicInteger released = new AtomicInteger();
    epochs.retire(released::incrementAndGet);
    assertEquals(1, released.get());
    assertEquals(0, epochs.collect());
  }

  @Test
  void whereContextsCannotBeMadeThoseThatWereAreFreed() {
    AtomicInteger left = new AtomicInteger(20);
    Supplier<Context> scarce =
        () -> {
          if (left.decrementAndGet() < 0) {
            throw new OutOfMemoryError("as a test wants it");
          }
          return new Context();
        };
    int before = contexts.get();
    assertThrows(OutOfMemoryError.class, () -> new Epochs<>(scarce));
    assertEquals(20, contexts.get() - before);
    assertEquals(20, freed.get());
  }

  @Test
  void whereNoSlotCanBeAddedTheRestGoesOn() {
    AtomicBoolean refused = new AtomicBoolean();
    Epochs<Context> scarce =
        new Epochs<>(
            () -> {
              if (refused.get()) {
                throw new OutOfMemoryError("as a test wants it");
              }
              return new Context();
            });
    refused.set(true);
    List<EpochSlot<Context>> inside = new ArrayList<>();
    OutOfMemoryError none =
        assertThrows(
            OutOfMemoryError.class,
            () -> {
              while (true) {
                inside.add(scarce.enter());
              }
            });
    assertEquals("as a test wants it", none.getMessage());
    inside.forEach(scarce::exit);
    assertFalse(scarce.isInside());
    scarce.drain();
    EpochSlot<Context> slot = scarce.enter();
    assertTrue(inside.contains(slot));
    scarce.exit(slot);
    scarce.drain();
    scarce.free();
    assertEquals(inside.size(), freed.get());
  }

  @Test
  void aReaderInsideIsSeen() throws InterruptedException {
    assertFalse(epochs.isReaderInside());
    EpochSlot<Context> slot = epochs.enter();
    AtomicBoolean seen = new AtomicBoolean();
    Thread other = new Thread(() -> seen.set(epochs.isReaderInside()));
    other.start();
    other.join();
    assertTrue(seen.get());
    epochs.exit(slot);
    assertFalse(epochs.isReaderInside());
  }

  @Test
  void oneThatRestsHoldsNothingBackAndKeepsItsSlot() {
    AtomicInteger released = new AtomicInteger();
    EpochSlot<Context> slot = epochs.enter();
    epochs.retire(released::incrementAndGet);
    assertEquals(0, released.get());
    epochs.rest(slot);
    assertEquals(0, epochs.collect());
    assertEquals(1, released.get());
    assertFalse(epochs.isReaderInside());
    assertTrue(epochs.isInside());
    assertTrue(epochs.isIn(slot));
    EpochSlot<Context> inner = epochs.enter();
    assertNotSame(slot, inner);
    epochs.retire(released::incrementAndGet);
    assertEquals(1, released.get(), "a call within the call is inside");
    epochs.exit(inner);
    assertEquals(0, epochs.collect());
    epochs.exit(slot);
    assertFalse(epochs.isInside());
    assertSame(slot, epochs.enter());
  }

  @Test
  void drainingWaitsForOneThatRests() throws InterruptedException {
    EpochSlot<Context> slot = epochs.enter();
    epochs.rest(slot);
    AtomicBoolean drained = new AtomicBoolean();
    Thread closer =
        new Thread(
            () -> {
              epochs.drain();
              drained.set(true);
            });
    closer.start();
    Parked.await(List.of(closer));
    assertFalse(drained.get());
    epochs.exit(slot);
    closer.join();
    assertTrue(drained.get());
  }

  @Test
  void restingIsForTheThreadInside() throws InterruptedException {
    AtomicInteger released = new AtomicInteger();
    EpochSlot<Context> slot = epochs.enter();
    Thread other = new Thread(() -> epochs.rest(slot));
    other.start();
    other.join();
    epochs.retire(released::incrementAndGet);
    assertEquals(0, released.get());
    epochs.exit(slot);
    epochs.rest(slot);
    assertFalse(epochs.isInside());
    epochs.drain();
    assertEquals(1, released.get());
  }

  @Test
  void readerFromBeforeHoldsItBackAndOneFromAfterDoesNot() {
    AtomicInteger released = new AtomicInteger();
    EpochSlot<Context> before = epochs.enter();
    epochs.retire(released::incrementAndGet);
    assertEquals(1, epochs.collect());
    EpochSlot<Context> after = epochs.enter();
    assertEquals(0, released.get());
    epochs.exit(before);
    assertEquals(0, epochs.collect());
    assertEquals(1, released.get());
    epochs.exit(after);
    assertEquals(0, epochs.collect());
    assertEquals(1, released.get());
  }

  @Test
  void whatIsRetiredIsReleasedInOrderAndAsFarAsPossible() {
    List<Integer> released = new ArrayList<>();
    epochs.retire(() -> released.add(0));
    EpochSlot<Context> first = epochs.enter();
    epochs.retire(() -> released.add(1));
    epochs.retire(() -> released.add(2));
    EpochSlot<Context> second = epochs.enter();
    epochs.retire(() -> released.add(3));
    assertEquals(List.of(0), released);
    assertEquals(3, epochs.collect());
    epochs.exit(first);
    assertEquals(1, epochs.collect());
    assertEquals(List.of(0, 1, 2), released);
    epochs.exit(second);
    epochs.retire(() -> released.add(4));
    assertEquals(List.of(0, 1, 2, 3, 4), released);
  }

  @Test
  void aReleaseThatThrowsDoesNotKeepOthersFromRunning() {
    for (boolean drains : new boolean[] {false, true}) {
      List<Integer> released = new ArrayList<>();
      IllegalStateException wrong = new IllegalStateException("as a test wants it");
      EpochSlot<Context> reader = epochs.enter();
      for (int i = 0; i < 4; i++) {
        int number = i;
        epochs.retire(
            () -> {
              if (number % 2 == 0) {
                throw wrong;
              }
              released.add(number);
            });
      }
      epochs.exit(reader);
      IllegalStateException thrown =
          assertThrows(
              IllegalStateException.class, drains ? epochs::drain : () -> epochs.collect());
      assertSame(wrong, thrown);
      assertEquals(List.of(1, 3), released);
      assertEquals(0, epochs.collect());
    }
  }

  @Test
  void releaseMayRetireMore() {
    AtomicInteger released = new AtomicInteger();
    EpochSlot<Context> reader = epochs.enter();
    epochs.retire(() -> epochs.retire(released::incrementAndGet));
    epochs.exit(reader);
    epochs.drain();
    assertEquals(1, released.get());
  }

  @Test
  void howeverManyReleasesRetireMoreCallsDoNotNest() {
    AtomicInteger released = new AtomicInteger();
    AtomicInteger depth = new AtomicInteger();
    AtomicInteger deepest = new AtomicInteger();
    EpochSlot<Context> reader = epochs.enter();
    int count = 100_000;
    for (int i = 0; i < count; i++) {
      epochs.retire(
          () -> {
            deepest.accumulateAndGet(depth.incrementAndGet(), Math::max);
            epochs.retire(released::incrementAndGet);
            depth.decrementAndGet();
          });
    }
    epochs.exit(reader);
    assertEquals(0, epochs.collect());
    assertEquals(count, released.get());
    assertEquals(1, deepest.get());
  }

  @Test
  void drainWaitsForAReleaseThatAnotherThreadRuns() throws Exception {
    AtomicBoolean released = new AtomicBoolean();
    AtomicBoolean releasedWhenDrained = new AtomicBoolean();
    Thread drainer =
        new Thread(
            () -> {
              epochs.drain();
              releasedWhenDrained.set(released.get());
            });
    epochs.retire(
        () -> {
          drainer.start();
          while (drainer.getState() == Thread.State.NEW
              || drainer.getState() == Thread.State.RUNNABLE) {
            Thread.onSpinWait();
          }
          released.set(true);
        });
    drainer.join();
    assertTrue(releasedWhenDrained.get(), "drained before the release was over");
  }

  @Test
  void slotsGrowBeyondTheirFirstNumber() {
    AtomicInteger released = new AtomicInteger();
    Set<EpochSlot<Context>> slots = Collections.newSetFromMap(new IdentityHashMap<>());
    List<EpochSlot<Context>> nested = new ArrayList<>();
    for (int i = 0; i < 300; i++) {
      nested.add(epochs.enter());
      if (i % 50 == 49) {
        epochs.retire(released::incrementAndGet);
      }
    }
    slots.addAll(nested);
    assertEquals(300, slots.size());
    // The last to go is one of those that were there before the slots grew.
    for (int i = 299; i > 0; i--) {
      epochs.exit(nested.get(i));
      assertEquals(6, epochs.collect());
    }
    assertTrue(epochs.isInside());
    epochs.exit(nested.get(0));
    assertFalse(epochs.isInside());
    assertEquals(0, epochs.collect());
    assertEquals(6, released.get());
  }

  @Test
  void readerInASlotThatWasAddedCountsToo() {
    AtomicInteger released = new AtomicInteger();
    List<EpochSlot<Context>> nested = new ArrayList<>();
    for (int i = 0; i < 100; i++) {
      nested.add(epochs.enter());
    }
    epochs.retire(released::incrementAndGet);
    for (EpochSlot<Context> slot : nested) {
      assertEquals(1, epochs.collect());
      epochs.exit(slot);
    }
    assertEquals(0, epochs.collect());
    assertEquals(1, released.get());
  }

  @Test
  void insideIsSaidOfTheCallingThreadOnly() throws Exception {
    AtomicBoolean otherInside = new AtomicBoolean(true);
    assertFalse(epochs.isInside());
    EpochSlot<Context> outer = epochs.enter();
    EpochSlot<Context> inner = epochs.enter();
    assertNotSame(outer, inner);
    Thread other = new Thread(() -> otherInside.set(epochs.isInside()));
    other.start();
    other.join();
    assertFalse(otherInside.get());
    epochs.exit(inner);
    assertTrue(epochs.isInside());
    epochs.exit(outer);
    assertFalse(epochs.isInside());
  }

  @Test
  @SuppressWarnings("deprecation") // threadId() exists from 19 on only
  void aReaderThatFailsToEnterLeavesNothingTaken() {
    long self = Thread.currentThread().getId();
    for (Consumer<EpochSlot<Context>> wayIn :
        List.<Consumer<EpochSlot<Context>>>of(
            slot -> {},
            slot -> assertTrue(slot.announce(1, self)),
            slot -> assertSame(slot, epochs.enter(slot)))) {
      EpochSlot<Context> outer = epochs.enter();
      EpochSlot<Context> slot = epochs.vacant();
      assertNotSame(outer, slot);
      assertThrows(
          InternalError.class,
          () -> {
            try {
              wayIn.accept(slot);
              throw new InternalError("an unreadable page, as a test wants it");
            } finally {
              epochs.exit(slot);
            }
          });
      assertSame(slot, epochs.vacant());
      assertTrue(epochs.isIn(outer));
      epochs.exit(outer);
      assertFalse(epochs.isReaderInside());
    }
    epochs.drain();
  }

  @Test
  @SuppressWarnings("deprecation") // threadId() exists from 19 on only
  void noThreadLeavesForAnotherOne() throws InterruptedException {
    for (boolean isHalfInside : new boolean[] {false, true}) {
      EpochSlot<Context> slot = epochs.vacant();
      AtomicBoolean entered = new AtomicBoolean();
      Thread faster =
          new Thread(
              () -> {
                long self = Thread.currentThread().getId();
                entered.set(isHalfInside ? slot.announce(1, self) : epochs.enter(slot) == slot);
              });
      faster.start();
      faster.join();
      assertTrue(entered.get());
      EpochSlot<Context> other = epochs.enter(slot);
      assertNotSame(slot, other);
      assertFalse(epochs.isIn(slot));
      epochs.exit(other);
      epochs.exit(slot);
      assertTrue(epochs.isReaderInside());
      assertNotSame(slot, epochs.vacant());
      slot.leave(faster.getId());
      assertFalse(epochs.isReaderInside());
    }
  }

  @Test
  void contextBelongsToTheSlotAndIsFreed() {
    int made = contexts.get();
    EpochSlot<Context> slot = epochs.enter();
    Context context = slot.context();
    EpochSlot<Context> other = epochs.enter();
    assertNotSame(context, other.context());
    epochs.exit(other);
    epochs.exit(slot);
    EpochSlot<Context> again = epochs.enter();
    assertSame(slot, again);
    assertSame(context, again.context());
    epochs.exit(again);
    epochs.drain();
    epochs.free();
    assertEquals(made, contexts.get());
    assertEquals(made, freed.get());
  }

  @Test
  void figuresOfAllSlotsAreAddedUpWithAnyReaderInside() {
    EpochSlot<Context> inside = epochs.enter();
    Set<Context> asked = Collections.newSetFromMap(new IdentityHashMap<>());
    long sum =
        epochs.sum(
            context -> {
              assertTrue(asked.add(context));
              return context == inside.context() ? 1_000 : 1;
            });
    assertEquals(1_000 + contexts.get() - 1, sum);
    epochs.exit(inside);
  }

  @Test
  void noReaderIsInsideAVisitedSlot() {
    EpochSlot<Context> inside = epochs.enter();
    List<EpochSlot<Context>> left = new ArrayList<>();
    for (int i = 0; i < 40; i++) {
      left.add(epochs.enter());
    }
    Set<Context> idle = Collections.newSetFromMap(new IdentityHashMap<>());
    left.forEach(slot -> idle.add(slot.context()));
    left.forEach(epochs::exit);
    List<Context> visited = new ArrayList<>();
    // As many calls as there are slots.
    for (int i = 0; i < contexts.get(); i++) {
      epochs.visitNext(visited::add);
    }
    assertEquals(contexts.get() - 1, visited.size());
    assertFalse(visited.contains(inside.context()));
    idle.removeAll(visited);
    assertEquals(Set.of(), idle);
    epochs.exit(inside);
    assertFalse(epochs.isReaderInside());
    assertThrows(
        IllegalStateException.class,
        () -> {
          for (int i = 0; i < 64; i++) {
            epochs.visitNext(
                context -> {
                  throw new IllegalStateException("as a test wants it");
                });
          }
        });
    assertFalse(epochs.isReaderInside());
  }

  @Test
  void drainWaitsForReadersInsideAndKeepsTheInterrupt() throws Exception {
    AtomicBoolean drained = new AtomicBoolean();
    AtomicBoolean interrupted = new AtomicBoolean();
    AtomicInteger released = new AtomicInteger();
    CountDownLatch begun = new CountDownLatch(1);
    EpochSlot<Context> reader = epochs.enter();
    epochs.retire(released::incrementAndGet);
    Thread drainer =
        new Thread(
            () -> {
              Thread.currentThread().interrupt();
              begun.countDown();
              epochs.drain();
              drained.set(true);
              interrupted.set(Thread.currentThread().isInterrupted());
            });
    drainer.start();
    begun.await();
    for (int i = 0; i < 1000; i++) {
      Thread.onSpinWait();
      assertFalse(drained.get());
      assertEquals(0, released.get());
    }
    epochs.exit(reader);
    drainer.join();
    assertTrue(drained.get());
    assertTrue(interrupted.get());
    assertEquals(1, released.get());
  }

  /** A page that several threads read while another one replaces it. */
  private record Page(Region region, long stamp) {}

  private static final class Current {
    volatile Page page;

    Current(Page page) {
      this.page = page;
    }
  }

  @Test
  void noReaderEverSeesReleasedMemory() throws Exception {
    MemoryLedger ledger = new MemoryLedger();
    int longs = 32;
    int replacements = 10_000;
    Queue<Region> released = new ConcurrentLinkedQueue<>();
    Current current = new Current(page(ledger, longs, 1));
    AtomicReference<@Nullable Throwable> failed = new AtomicReference<>();
    AtomicBoolean done = new AtomicBoolean();
    List<Thread> readers = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      Thread reader =
          new Thread(
              () -> {
                try {
                  while (!done.get()) {
                    readOnce(current, longs);
                  }
                } catch (Throwable e) {
                  failed.compareAndSet(null, e);
                }
              });
      reader.start();
      readers.add(reader);
    }
    for (int n = 2; n < replacements && failed.get() == null; n++) {
      Page old = current.page;
      current.page = page(ledger, longs, n);
      epochs.retire(
          () -> {
            // Poison instead of a free: had the epochs failed, the reader must live to tell.
            old.region.fill(0, old.region.length(), (byte) 0xdd);
            released.add(old.region);
          });
    }
    done.set(true);
    for (Thread reader : readers) {
      reader.join();
    }
    assertNull(failed.get(), () -> String.valueOf(failed.get()));
    epochs.drain();
    assertEquals(replacements - 2, released.size());
    released.forEach(Region::free);
    current.page.region.free();
    assertEquals(0, ledger.totalBytes());
  }

  private static Page page(MemoryLedger ledger, int longs, long stamp) {
    Region region = ledger.allocate(MemoryPurpose.READ, 8L * longs);
    for (int i = 0; i < longs; i++) {
      region.putLong(8L * i, stamp);
    }
    return new Page(region, stamp);
  }

  private void readOnce(Current current, int longs) {
    EpochSlot<Context> slot = epochs.enter();
    try {
      Page page = current.page;
      for (int round = 0; round < 4; round++) {
        for (int i = 0; i < longs; i++) {
          assertEquals(page.stamp, page.region.getLong(8L * i));
        }
      }
    } finally {
      epochs.exit(slot);
    }
  }
}
