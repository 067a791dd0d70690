package io.kvsep.internal.memory;

import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.NonAllocatingLock;
import io.kvsep.internal.concurrent.Uninterruptibles;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedList;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;

/**
 * Says when memory that readers may still be looking at can be given back (epoch-based reclamation;
 * K. Fraser, Practical lock-freedom, 2004). A reader enters a slot, reads whatever is current, and
 * leaves; that costs one uncontended compare-and-set and no shared counter.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A reader announces its epoch before it loads anything shared, with a full fence between.
 *   <li>Whoever retires something has unlinked it first: a reader that enters later cannot find it.
 *   <li>Something retired in epoch e is released only when no slot holds an epoch below e.
 * </ol>
 *
 * Thread safe. {@link #retire} and {@link #collect} take a lock that no reader ever takes.
 */
public final class Epochs<C extends SlotContext> {
  private static final int SLOTS_INITIAL = 32;

  private record Retired(long epoch, Runnable release) {}

  private final Supplier<C> newContext;
  private final AtomicLong current = new AtomicLong(1);
  private final AtomicInteger visits = new AtomicInteger();
  private final NonAllocatingLock lock = new NonAllocatingLock();

  /**
   * Linked, since one that grows as an array does is left broken where there is no memory for that.
   */
  @SuppressWarnings("JdkObsolete")
  private final Queue<Retired> retired = new LinkedList<>();

  /** Threads that run a release; guarded by lock, as the queue they took it from. */
  private final Set<Thread> releasing = new HashSet<>();

  private volatile EpochSlot<C>[] slots;

  /**
   * @param newContext makes the scratch space of a slot. All are made with their slots, which are
   *     added when all are taken, and kept: in whoever reads there is no branch for the first use
   *     of a slot, of which the JVM's compiler would hear only when it has compiled the whole read
   *     without
   */
  @SuppressWarnings({
    "unchecked",
    "rawtypes"
  }) // an array of a generic type cannot be made otherwise
  public Epochs(Supplier<C> newContext) {
    this.newContext = newContext;
    this.slots = moreSlots((EpochSlot<C>[]) new EpochSlot[0], SLOTS_INITIAL);
  }

  /**
   * A slot to {@link #enter(EpochSlot)} next. In two steps, since what an unreadable page of a
   * mapping raises late ({@link Region#requirePagesRead}) may surface as a method returns, and a
   * slot that nobody knows of would be taken for ever:
   *
   * <pre>{@code
   * EpochSlot<C> slot = epochs.vacant();
   * try {
   *   slot = epochs.enter(slot);
   *   ...
   * } finally {
   *   epochs.exit(slot);
   * }
   * }</pre>
   */
  public EpochSlot<C> vacant() {
    long threadId = currentThreadId();
    while (true) {
      EpochSlot<C>[] candidates = slots;
      int home = homeOf(threadId, candidates.length);
      for (int i = 0; i < candidates.length; i++) {
        EpochSlot<C> slot = candidates[(home + i) & (candidates.length - 1)];
        if (slot.isVacant()) {
          return slot;
        }
      }
      grow(candidates);
    }
  }

  /**
   * Enters; what is reachable then stays valid until {@link #exit}.
   *
   * @param slot just found to be {@link #vacant}, so that the calling thread is not in it
   * @return the slot it is in now: another one where somebody else was faster
   */
  public EpochSlot<C> enter(EpochSlot<C> slot) {
    if (tryEnter(slot)) {
      return slot;
    }
    // The other one is known to the caller only on return.
    Region.requirePagesRead();
    return enter();
  }

  /** Both steps in one, for those who asked before whether pages could be read. */
  public EpochSlot<C> enter() {
    EpochSlot<C> slot = vacant();
    while (!tryEnter(slot)) {
      slot = vacant();
    }
    return slot;
  }

  private boolean tryEnter(EpochSlot<C> slot) {
    return slot.tryEnter(current.get(), currentThreadId());
  }

  /** Leaves the slot, if the calling thread is in it. */
  public void exit(EpochSlot<C> slot) {
    try {
      slot.leave(currentThreadId());
    } catch (InternalError e) {
      // Of a page that was read before; it comes once.
      slot.leave(currentThreadId());
      throw e;
    }
  }

  /**
   * From here on the calling thread looks at nothing that the epochs protect, and nothing that is
   * retired waits for it. It keeps its slot until {@link #exit}, for which {@link #drain} waits.
   * For code of users that runs for as long as it likes.
   *
   * @param slot that the calling thread is in
   */
  public void rest(EpochSlot<C> slot) {
    slot.rest(currentThreadId());
  }

  /** Whether the calling thread is in the slot. */
  public boolean isIn(EpochSlot<C> slot) {
    return slot.isOwnedBy(currentThreadId());
  }

  /**
   * Hands the scratch space of the next slot to {@code visit}, one slot after the other from call
   * to call, so that what somebody left there can be taken back. Does nothing where somebody is
   * inside.
   */
  public void visitNext(Consumer<? super C> visit) {
    EpochSlot<C>[] candidates = slots;
    EpochSlot<C> slot = candidates[visits.getAndIncrement() & (candidates.length - 1)];
    if (!slot.isVacant()) {
      return;
    }
    try {
      if (tryEnter(slot)) {
        visit.accept(slot.context());
      }
    } finally {
      exit(slot);
    }
  }

  /** Adds up a figure of the scratch space of all slots, which others may be at work with. */
  public long sum(ToLongFunction<? super C> figure) {
    long sum = 0;
    for (EpochSlot<C> slot : slots) {
      sum += figure.applyAsLong(slot.context());
    }
    return sum;
  }

  /**
   * Runs {@code release} once every reader that is inside now has left; perhaps at once. A release
   * may retire more, which then waits for its turn: however many do, calls do not nest.
   */
  public void retire(Runnable release) {
    lock.lock();
    try {
      retired.add(new Retired(current.incrementAndGet(), release));
    } finally {
      lock.unlock();
    }
    collect();
  }

  /**
   * Releases what no reader can reach any more; returns how much is still waiting, or being
   * released by somebody else. Called by a release it leaves the rest to whoever runs that. A
   * release that throws is done with; what it threw is thrown when the others have had their turn.
   */
  public int collect() {
    CleanupSteps releases = new CleanupSteps();
    int left = collect(releases);
    releases.throwFirst();
    return left;
  }

  private int collect(CleanupSteps releases) {
    Thread self = Thread.currentThread();
    while (true) {
      Retired next;
      lock.lock();
      try {
        next = retired.peek();
        if (next == null || next.epoch > oldestReader() || !releasing.add(self)) {
          return retired.size() + releasing.size();
        }
        retired.remove();
      } finally {
        lock.unlock();
      }
      releases.run(next.release);
      ended(self);
    }
  }

  private void ended(Thread releaser) {
    lock.lock();
    try {
      releasing.remove(releaser);
    } finally {
      lock.unlock();
    }
  }

  /** Whether the calling thread is inside, which means that waiting for readers would never end. */
  public boolean isInside() {
    for (EpochSlot<C> slot : slots) {
      if (isIn(slot)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a reader was inside, and did not rest, at this moment; looks at each slot. */
  public boolean isAnybodyInside() {
    return oldestReader() != Long.MAX_VALUE;
  }

  /**
   * Waits until all threads that are inside now, and those that {@link #rest}, have left and
   * everything retired is released. A thread that enters later must not be able to find shared
   * memory any more, and is not waited for. What a release throws is thrown at the end.
   */
  public void drain() {
    long now = current.incrementAndGet();
    CleanupSteps releases = new CleanupSteps();
    while (collect(releases) > 0 || oldestReader() < now || isAnyResting()) {
      Uninterruptibles.pause(100_000);
    }
    releases.throwFirst();
  }

  /** Frees the scratch space of all slots; only after {@link #drain}. */
  public void free() {
    for (EpochSlot<C> slot : slots) {
      slot.free();
    }
  }

  private long oldestReader() {
    long oldest = Long.MAX_VALUE;
    for (EpochSlot<C> slot : slots) {
      long epoch = slot.epoch();
      if (epoch != EpochSlot.IDLE && epoch < oldest) {
        oldest = epoch;
      }
    }
    return oldest;
  }

  private boolean isAnyResting() {
    for (EpochSlot<C> slot : slots) {
      if (slot.isResting()) {
        return true;
      }
    }
    return false;
  }

  private void grow(EpochSlot<C>[] full) {
    lock.lock();
    try {
      if (slots == full) {
        slots = moreSlots(full, full.length * 2);
      }
    } finally {
      lock.unlock();
    }
  }

  private EpochSlot<C>[] moreSlots(EpochSlot<C>[] existing, int count) {
    EpochSlot<C>[] all = Arrays.copyOf(existing, count);
    int made = existing.length;
    try {
      while (made < count) {
        all[made] = new EpochSlot<>(newContext.get());
        made++;
      }
    } finally {
      if (made < count) {
        for (int i = existing.length; i < made; i++) {
          all[i].free();
        }
      }
    }
    return all;
  }

  /**
   * Where a thread looks for a slot first. The top bits of a Fibonacci hash keep threads that were
   * started one after another far apart, so that none looks at a slot that is busy with another's.
   *
   * @param slotCount a power of two, above one
   */
  private static int homeOf(long threadId, int slotCount) {
    return (int) ((threadId * 0x9e3779b97f4a7c15L) >>> (Long.numberOfLeadingZeros(slotCount) + 1));
  }

  @SuppressWarnings("deprecation") // threadId() exists from 19 on only
  private static long currentThreadId() {
    return Thread.currentThread().getId();
  }
}
