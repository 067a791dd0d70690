package io.kvsep.internal.memory;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.Uninterruptibles;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedList;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/**
 * Decides when memory that readers may still use can be freed (epoch-based reclamation; K. Fraser,
 * Practical lock-freedom, 2004). A reader enters a slot, reads whatever is current, and leaves: one
 * uncontended compare-and-set, no shared counter.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: A reader announces its epoch before it loads anything shared, with a full fence
 *       between.
 *   <li>I2: An object is unlinked before it is retired: later readers cannot find it.
 *   <li>I3: An object retired in epoch e is released only when no slot holds an epoch below e.
 * </ul>
 *
 * <p>Thread safe. {@link #retire} and {@link #collect} take a lock that no reader takes.
 */
public final class Epochs<C extends SlotContext> {
  private static final int SLOTS_INITIAL = 32;

  private record Retired(long epoch, Runnable release) {}

  private final Supplier<C> newContext;
  private final AtomicLong current = new AtomicLong(1);
  private final AtomicInteger visits = new AtomicInteger();

  /**
   * Entering its monitor allocates nothing. Linked: an array queue is left broken if it cannot
   * allocate memory to grow.
   */
  @SuppressWarnings("JdkObsolete")
  @GuardedBy("itself")
  private final Queue<Retired> retired = new LinkedList<>();

  /** Threads that run a release. */
  @GuardedBy("retired")
  private final Set<Thread> releasing = new HashSet<>();

  private volatile EpochSlot<C>[] slots;

  /**
   * @param newContext creates a slot's scratch space with the slot: the read path then has no
   *     branch for a first use, which the JIT compiler would see only after compiling the read
   *     without it
   */
  @SuppressWarnings({"unchecked", "rawtypes"}) // Generic arrays cannot be created otherwise.
  public Epochs(Supplier<C> newContext) {
    this.newContext = newContext;
    this.slots = moreSlots((EpochSlot<C>[]) new EpochSlot[0], SLOTS_INITIAL);
  }

  /**
   * Returns a slot for {@link #enter(EpochSlot)}. There are two steps because a deferred page fault
   * ({@link Region#requirePagesRead}) may be thrown when a method returns, and a slot unknown to
   * the caller would stay occupied forever:
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
    return vacant(currentThreadId());
  }

  private EpochSlot<C> vacant(long threadId) {
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
   * Everything reachable stays valid until {@link #exit}.
   *
   * @param slot from {@link #vacant}, so that the calling thread is not in it
   * @return the slot entered, another one if the given one was taken
   */
  public EpochSlot<C> enter(EpochSlot<C> slot) {
    if (tryEnter(slot)) {
      return slot;
    }
    // The caller learns of another slot only on return, so no fault may be pending.
    Region.requirePagesRead();
    return enter();
  }

  /** Both steps, for callers that have just checked for page faults. */
  public EpochSlot<C> enter() {
    long threadId = currentThreadId();
    EpochSlot<C> slot = vacant(threadId);
    while (!slot.tryEnter(current.get(), threadId)) {
      slot = vacant(threadId);
    }
    return slot;
  }

  /** Not for hot paths: the lambda may allocate. */
  public <T extends @Nullable Object> T inside(Function<? super C, T> work) {
    EpochSlot<C> slot = vacant();
    try {
      slot = enter(slot);
      return work.apply(slot.context());
    } finally {
      exit(slot);
    }
  }

  private boolean tryEnter(EpochSlot<C> slot) {
    return slot.tryEnter(current.get(), currentThreadId());
  }

  /** Leaves the slot if the calling thread is in it. */
  public void exit(EpochSlot<C> slot) {
    try {
      slot.leave(currentThreadId());
    } catch (InternalError e) {
      // A fault of an earlier page read; it is thrown once.
      slot.leave(currentThreadId());
      throw e;
    }
  }

  /**
   * Ends the protection but keeps the slot: the calling thread must not use protected memory any
   * more and delays no release. {@link #drain} still waits for its {@link #exit}. For user code of
   * unbounded duration.
   */
  public void rest(EpochSlot<C> slot) {
    slot.rest(currentThreadId());
  }

  public boolean isIn(EpochSlot<C> slot) {
    return slot.isOwnedBy(currentThreadId());
  }

  /**
   * Passes the scratch space of the next slot to {@code visit}, round robin, to free memory left
   * there. Skips an occupied slot.
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

  /** Sums over all slots, which may be in use. */
  public long sum(ToLongFunction<? super C> figure) {
    long sum = 0;
    for (EpochSlot<C> slot : slots) {
      sum += figure.applyAsLong(slot.context());
    }
    return sum;
  }

  /**
   * Runs {@code release} once every reader now inside has left, possibly at once. Releases may
   * retire more, without nesting.
   */
  public void retire(Runnable release) {
    synchronized (retired) {
      retired.add(new Retired(current.incrementAndGet(), release));
    }
    collect();
  }

  /**
   * Releases what no reader can reach. Returns the number of objects that wait or that other
   * threads are releasing. A call from a release leaves the rest to the enclosing call. If a
   * release throws, the others still run and the exception is thrown at the end.
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
      synchronized (retired) {
        next = retired.peek();
        if (next == null || next.epoch > oldestReader() || !releasing.add(self)) {
          return retired.size() + releasing.size();
        }
        retired.remove();
      }
      releases.run(next.release);
      ended(self);
    }
  }

  private void ended(Thread releaser) {
    synchronized (retired) {
      releasing.remove(releaser);
    }
  }

  /** Whether the calling thread is inside and would wait for itself forever. */
  public boolean isInside() {
    for (EpochSlot<C> slot : slots) {
      if (isIn(slot)) {
        return true;
      }
    }
    return false;
  }

  /** Whether a reader that does not rest is inside; checks every slot. */
  public boolean isReaderInside() {
    return oldestReader() != Long.MAX_VALUE;
  }

  /**
   * Waits until all threads inside, including resting ones, have left and everything retired is
   * released. Threads that enter later are not waited for and must not find shared memory. An
   * exception of a release is thrown at the end.
   */
  public void drain() {
    long now = current.incrementAndGet();
    CleanupSteps releases = new CleanupSteps();
    while (collect(releases) > 0 || oldestReader() < now || isAnyResting()) {
      Uninterruptibles.pause(100_000);
    }
    releases.throwFirst();
  }

  /** Only after {@link #drain}. */
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
    synchronized (retired) {
      if (slots == full) {
        slots = moreSlots(full, full.length * 2);
      }
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
   * The top bits of a Fibonacci hash spread consecutive thread ids, so that threads do not probe
   * each other's slots.
   *
   * @param slotCount a power of two, above one
   */
  private static int homeOf(long threadId, int slotCount) {
    return (int) ((threadId * 0x9e3779b97f4a7c15L) >>> (Long.numberOfLeadingZeros(slotCount) + 1));
  }

  @SuppressWarnings("deprecation") // threadId() exists only since 19.
  private static long currentThreadId() {
    return Thread.currentThread().getId();
  }
}
