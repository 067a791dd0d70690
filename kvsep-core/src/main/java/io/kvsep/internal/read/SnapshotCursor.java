package io.kvsep.internal.read;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.concurrent.CleanupSteps;
import io.kvsep.internal.concurrent.Uninterruptibles;
import io.kvsep.internal.iterator.EntryLookahead;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.DeferredPageFaults;
import io.kvsep.internal.memory.EpochSlot;
import io.kvsep.internal.memory.Epochs;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.view.ReadState;
import io.kvsep.internal.vlog.StoredValue;
import io.kvsep.internal.vlog.ValueReader;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over the store, as of a snapshot or of its opening. Pins a read state. Calls that read
 * more than the heap claim the cursor, so that neither a second thread nor a closing store frees
 * memory in use.
 */
public final class SnapshotCursor extends BoundedCursor {
  private static final long CLOSED = -1;

  /**
   * The bits of {@link #claims} that count; the others, but for the sign, hold the claiming
   * thread's id.
   */
  private static final long COUNT_MASK = (1L << 40) - 1;

  private static final int OWNER_SHIFT = 40;

  private static final long OWNER_MASK = Long.MAX_VALUE & ~COUNT_MASK;

  /** Values up to this size are copied from the heap for a view. */
  private static final int SHOWN_BYTES_MAX = 256;

  /**
   * Copy and view of a short value, reused. One thread alone writes it, so that no other changes
   * what it was given.
   */
  private static final class ShownValue {
    final Thread writer = Thread.currentThread();
    final byte[] bytes = new byte[SHOWN_BYTES_MAX];
    final ByteBuffer view = ByteBuffer.wrap(bytes).asReadOnlyBuffer();
  }

  private final StoreReads reads;
  private final ReadState readState;
  private final VisibleIterator iterator;
  private final boolean verifies;
  private final StoredValue stored = new StoredValue();

  /** For values from the log; null before the first. */
  private ValueReader.@Nullable Scratch scratch;

  /** By the store's ticker. */
  final long openedNanos;

  private final @Nullable ReadAhead ahead;

  /** Of the last thread that used the cursor; changed only within a claim. */
  private AtomicInteger use;

  private Thread user;

  private @Nullable ShownValue shown;

  /**
   * Claims begun plus claims ended: odd while claimed, so a reader without a claim detects one
   * afterwards. The upper bits then hold low bits of the thread's id: no thread ends another's
   * claim.
   */
  private final AtomicLong claims = new AtomicLong();

  /**
   * Takes over all arguments; the read-ahead may be null.
   *
   * @param verifies whether checksums of values are checked
   */
  SnapshotCursor(
      StoreReads reads,
      ReadState readState,
      VisibleIterator iterator,
      boolean verifies,
      @Nullable ReadAhead ahead,
      ScanBounds bounds,
      long openedNanos) {
    super(bounds);
    this.reads = reads;
    this.readState = readState;
    this.iterator = iterator;
    this.verifies = verifies;
    this.ahead = ahead;
    this.openedNanos = openedNanos;
    this.user = Thread.currentThread();
    this.use = DeferredPageFaults.begin();
  }

  @Override
  protected boolean begin(boolean onward) {
    noteUser();
    boolean lowest = onward != bounds.reverse();
    moved(lowest);
    return lowest ? iterator.first() : iterator.last();
  }

  @Override
  protected boolean step(boolean onward) {
    boolean ascending = onward != bounds.reverse();
    // Most steps read only the heap.
    if (!ascending || iterator.ahead() == null) {
      noteUser();
    }
    moved(ascending);
    return ascending ? iterator.next() : iterator.previous();
  }

  @Override
  protected boolean jump(byte[] userKey, boolean onward) {
    noteUser();
    if (ahead != null) {
      ahead.jumped(!bounds.reverse());
    }
    byte[] key = bounds.storedKey(userKey);
    return onward == bounds.reverse() ? iterator.seekAtOrBefore(key) : iterator.seekAtOrAfter(key);
  }

  @Override
  public boolean isValid() {
    requireIdle();
    return standsOnEntry();
  }

  @Override
  public byte[] key() {
    return key(prefixLength);
  }

  @Override
  public ByteBuffer keyView() {
    long idle = requireIdle();
    requireEntry();
    try {
      return view(iterator.key(), iterator.keyLength());
    } finally {
      requireUnclaimed(idle);
    }
  }

  public byte[] storedKey() {
    return key(/* from= */ 0);
  }

  private byte[] key(int from) {
    long idle = requireIdle();
    requireEntry();
    try {
      return Arrays.copyOfRange(iterator.key(), from, iterator.keyLength());
    } finally {
      requireUnclaimed(idle);
    }
  }

  @Override
  public byte[] value() {
    long idle = requireIdle();
    EntryLookahead near = heapValue();
    if (near != null) {
      byte[] value = new byte[iterator.payloadLength()];
      copy(near, value, idle);
      return value;
    }
    return read(StoredValue::toArray, ByteBuffer::wrap);
  }

  @Override
  public ByteBuffer valueView() {
    long idle = requireIdle();
    EntryLookahead near = heapValue();
    if (near != null) {
      ShownValue target = shown();
      int length = copy(near, target.bytes, idle);
      return target.view.limit(length).position(0).order(ByteOrder.BIG_ENDIAN);
    }
    return read(StoredValue::toView, value -> value);
  }

  /**
   * Reads the value within a claim.
   *
   * @param form makes the result, which {@code buffer} shows as a buffer
   */
  private <T> T read(Function<StoredValue, T> form, Function<T, ByteBuffer> buffer) {
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      if (isInline()) {
        T value = form.apply(inlineValue());
        requireRead(buffer.apply(value));
        return value;
      }
      Epochs<ReadContext> epochs = reads.epochs();
      EpochSlot<ReadContext> slot = epochs.vacant();
      try {
        slot = epochs.enter(slot);
        return form.apply(loggedValue());
      } finally {
        epochs.exit(slot);
      }
    } finally {
      unclaim(claim);
    }
  }

  private ShownValue shown() {
    ShownValue target = shown;
    if (target == null || target.writer != Thread.currentThread()) {
      target = new ShownValue();
      shown = target;
    }
    return target;
  }

  /** Whether the entry is a delete, in a cursor over changes. */
  public boolean isDelete() {
    return ofEntry(entry -> entry.kind() == Tag.DELETE);
  }

  @Override
  public int valueLength() {
    return ofEntry(
        entry -> {
          int header = Payload.headerLength(entry.kind());
          if (Tag.baseKind(entry.kind()) == Tag.PUT) {
            return entry.payloadLength() - header;
          }
          long offset = entry.payloadOffset() + header;
          int length = ValuePointer.valueLength(entry.payloadRegion(), offset);
          Region.requirePagesRead();
          return length;
        });
  }

  @Override
  public long expiresAtMillis() {
    return ofEntry(
        entry -> {
          long at =
              Payload.expiresAtMillis(entry.kind(), entry.payloadRegion(), entry.payloadOffset());
          Region.requirePagesRead();
          return at;
        });
  }

  private <T> T ofEntry(Function<VisibleIterator, T> work) {
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      requireEntry();
      return work.apply(iterator);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    // With a page fault between closing and unregistering, the store's close would wait forever.
    closes.run(Region::requirePagesRead);
    for (long seen = claims.get(); isClaimed(seen) || !take(seen, CLOSED); seen = claims.get()) {
      if (seen == CLOSED) {
        closes.throwFirst();
        return;
      }
      Uninterruptibles.pause(10_000);
    }
    try {
      if (ahead != null) {
        closes.run(ahead::close);
      }
      closes.run(iterator::close);
      if (scratch != null) {
        closes.run(scratch::close);
      }
      // Last: the steps before use what it pins.
      closes.run(readState::release);
      closes.throwFirst();
    } finally {
      DeferredPageFaults.end(use);
      // The store's close waits for this.
      reads.forget(this);
    }
  }

  private void moved(boolean ascending) {
    if (ahead != null) {
      ahead.moved(ascending);
    }
  }

  private @Nullable EntryLookahead heapValue() {
    EntryLookahead near = iterator.ahead();
    if (near == null || !standsOnEntry()) {
      return null;
    }
    requireValues();
    return iterator.kind() == Tag.PUT && iterator.payloadLength() <= SHOWN_BYTES_MAX ? near : null;
  }

  /**
   * Copies from the heap without a claim, which costs more; fails if another thread claimed the
   * cursor meanwhile.
   *
   * @param idle from {@link #requireIdle} before reading the entry
   * @return the value's length
   */
  private int copy(EntryLookahead near, byte[] target, long idle) {
    try {
      return iterator.copyPayload(near, target);
    } finally {
      requireUnclaimed(idle);
    }
  }

  /** Whether the value is pinned by the read state and needs no epoch. */
  private boolean isInline() {
    requireEntry();
    requireValues();
    return Tag.baseKind(iterator.kind()) == Tag.PUT;
  }

  private StoredValue inlineValue() {
    int header = Payload.headerLength(iterator.kind());
    stored.set(
        iterator.payloadRegion(),
        iterator.payloadOffset() + header,
        iterator.payloadLength() - header);
    return stored;
  }

  /**
   * An inline value's block may have been verified long ago. A copy has zeros from or up to an
   * unreadable page.
   */
  private static void requireRead(ByteBuffer value) {
    int length = value.limit();
    if (length > 0 && (value.get(0) == 0 || value.get(length - 1) == 0)) {
      Region.requirePagesRead();
    }
  }

  private StoredValue loggedValue() {
    long offset = iterator.payloadOffset() + Payload.headerLength(iterator.kind());
    ValueReader.Scratch memory = scratch();
    if (ahead != null) {
      if (!ahead.isDue()) {
        ahead.approach(iterator, stepsLeft());
      } else if (ahead.loadOrdered(iterator, offset)
          || ahead.reach(iterator, offset, stepsLeft())) {
        memory.expectLoaded();
      }
    }
    reads
        .values()
        .read(
            iterator.payloadRegion(),
            offset,
            iterator.keyRegion(),
            0,
            iterator.keyLength(),
            memory,
            stored);
    return stored;
  }

  private ValueReader.Scratch scratch() {
    ValueReader.Scratch memory = scratch;
    if (memory == null) {
      memory = new ValueReader.Scratch(reads.ledger());
      if (!verifies) {
        memory.trustValues();
      }
      scratch = memory;
    }
    return memory;
  }

  /** That of the identity would be a call of the JVM. */
  @Override
  public int hashCode() {
    return Long.hashCode(openedNanos * 0x9e3779b97f4a7c15L);
  }

  /** As that of all objects. */
  @Override
  public boolean equals(@Nullable Object other) {
    return this == other;
  }

  @Override
  @SuppressWarnings("deprecation") // threadId() exists since 19
  protected long newClaim() {
    long idle = requireIdle();
    return (idle + 1) | ((Thread.currentThread().getId() << OWNER_SHIFT) & OWNER_MASK);
  }

  @Override
  protected void claim(long claim) {
    if (!take((claim & COUNT_MASK) - 1, claim)) {
      throw refusal(claims.get());
    }
    // A thread that sees a write of this call also sees the claim.
    VarHandle.storeStoreFence();
  }

  /** Call within a claim before reading mapped pages. */
  private void noteUser() {
    Thread caller = Thread.currentThread();
    if (caller != user) {
      AtomicInteger next = DeferredPageFaults.begin();
      DeferredPageFaults.end(use);
      use = next;
      user = caller;
    }
  }

  private boolean take(long idle, long taken) {
    return claims.compareAndSet(idle, taken);
  }

  private static boolean isClaimed(long claims) {
    return (claims & 1) != 0;
  }

  /**
   * Replaces a claim in calls that read only the heap, which a concurrent close does not free.
   *
   * @return a state that changes with the next claim
   */
  private long requireIdle() {
    long state = claims.get();
    if (isClaimed(state)) {
      throw refusal(state);
    }
    return state;
  }

  /**
   * Fails if the cursor was claimed since {@link #requireIdle}; takes precedence over other errors.
   */
  private void requireUnclaimed(long idle) {
    VarHandle.acquireFence();
    long now = claims.get();
    if (now != idle) {
      throw refusal(now);
    }
  }

  private static RuntimeException refusal(long state) {
    return state == CLOSED
        ? new StoreClosedException("the cursor is closed")
        : new IllegalStateException("the cursor is in use by another thread");
  }

  @Override
  protected void unclaim(long claim) {
    try {
      giveBack(claim);
    } catch (InternalError e) {
      // From a page read before; raised once.
      giveBack(claim);
      throw e;
    }
  }

  private void giveBack(long claim) {
    if (claims.getPlain() == claim) {
      // Publishes this call to the next claim, without a full fence.
      claims.setRelease((claim + 1) & COUNT_MASK);
    }
  }
}
