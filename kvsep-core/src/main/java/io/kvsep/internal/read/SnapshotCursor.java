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
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * A cursor of the engine. Pins a view; each call that touches more than the heap claims the cursor,
 * so that a second thread or a closing store can never free what a call is working with.
 */
public final class SnapshotCursor extends BoundedCursor {
  /** No claim is possible any more. */
  private static final long CLOSED = -1;

  /** Bits of {@link #claims} that count; others tell whose claim it is, but for the sign. */
  private static final long COUNT_MASK = (1L << 40) - 1;

  private static final int OWNER_SHIFT = 40;

  private static final long OWNER_MASK = Long.MAX_VALUE & ~COUNT_MASK;

  /** Values of so many bytes are copied for a view from where the heap has them. */
  private static final int SHOWN_BYTES_MAX = 256;

  /**
   * A copy of a short value and the view of it, the same for each. Written by one thread alone, so
   * that a second one at the cursor cannot change under the first what that was given.
   */
  private static final class ShownValue {
    final Thread writer = Thread.currentThread();
    final byte[] bytes = new byte[SHOWN_BYTES_MAX];
    final ByteBuffer view = ByteBuffer.wrap(bytes).asReadOnlyBuffer();
  }

  private final StoreReads reads;
  private final ReadState view;
  private final VisibleIterator iterator;
  private final ReadContext context;
  private final @Nullable ReadAhead ahead;

  /** Of the thread that used it last; both change within a claim. */
  private AtomicInteger use;

  private Thread user;

  /** For {@link #valueView}; null until there is a short value. */
  private @Nullable ShownValue shown;

  /**
   * How many claims have begun and ended, together: odd while there is one, so that whoever looks
   * at something without a claim can see afterwards whether there was one. Then the last bits of
   * the thread's id are in front of it, so that nobody ends another's.
   */
  private final AtomicLong claims = new AtomicLong();

  /**
   * Takes over the view's reference, the iterator, the context and the read-ahead, null for none.
   */
  SnapshotCursor(
      StoreReads reads,
      ReadState view,
      VisibleIterator iterator,
      ReadContext context,
      @Nullable ReadAhead ahead,
      ScanBounds bounds) {
    super(bounds);
    this.reads = reads;
    this.view = view;
    this.iterator = iterator;
    this.context = context;
    this.ahead = ahead;
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
    // Most steps touch the heap alone.
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

  /** A copy of the user key. */
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

  /** A copy of the stored key. */
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

  /** A copy of the value. */
  @Override
  public byte[] value() {
    long idle = requireIdle();
    EntryLookahead near = heapValue();
    if (near != null) {
      byte[] value = new byte[iterator.payloadLength()];
      copy(near, value, idle);
      return value;
    }
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      if (isInline()) {
        byte[] value = inlineValue().toArray();
        requireRead(ByteBuffer.wrap(value));
        return value;
      }
      Epochs<ReadContext> epochs = reads.epochs();
      EpochSlot<ReadContext> slot = epochs.vacant();
      try {
        slot = epochs.enter(slot);
        return loggedValue().toArray();
      } finally {
        epochs.exit(slot);
      }
    } finally {
      unclaim(claim);
    }
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
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      if (isInline()) {
        ByteBuffer value = inlineValue().toView();
        requireRead(value);
        return value;
      }
      Epochs<ReadContext> epochs = reads.epochs();
      EpochSlot<ReadContext> slot = epochs.vacant();
      try {
        slot = epochs.enter(slot);
        return loggedValue().toView();
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

  /** Whether this is the delete of a key; only a walk over changes comes upon one. */
  public boolean isDelete() {
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      requireEntry();
      return iterator.kind() == Tag.DELETE;
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public int valueLength() {
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      requireEntry();
      int kind = iterator.kind();
      int header = Payload.headerLength(kind);
      if (Tag.baseKind(kind) == Tag.PUT) {
        return iterator.payloadLength() - header;
      }
      long offset = iterator.payloadOffset() + header;
      int length = ValuePointer.valueLength(iterator.payloadRegion(), offset);
      Region.requirePagesRead();
      return length;
    } finally {
      unclaim(claim);
    }
  }

  /** When the entry expires, {@link #NEVER} when it does not. */
  @Override
  public long expiresAtMillis() {
    long claim = newClaim();
    try {
      claim(claim);
      noteUser();
      requireEntry();
      long at =
          Payload.expiresAtMillis(
              iterator.kind(), iterator.payloadRegion(), iterator.payloadOffset());
      Region.requirePagesRead();
      return at;
    } finally {
      unclaim(claim);
    }
  }

  /** Releases everything; waits for a call in another thread to end. */
  @Override
  public void close() {
    CleanupSteps closes = new CleanupSteps();
    // An error that is still to come must not come between closing and giving back, behind which
    // the store would wait for ever.
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
      closes.run(context::free);
      // Last, since the others look at what it holds.
      closes.run(view::release);
      closes.throwFirst();
    } finally {
      DeferredPageFaults.end(use);
      // The store waits for this when it is closed.
      reads.forget(this);
    }
  }

  private void moved(boolean ascending) {
    if (ahead != null) {
      ahead.moved(ascending);
    }
  }

  /** What has a copy of the value on the heap, if it is short; null if nothing has. */
  private @Nullable EntryLookahead heapValue() {
    EntryLookahead near = iterator.ahead();
    if (near == null || !standsOnEntry()) {
      return null;
    }
    requireValues();
    return iterator.kind() == Tag.PUT && iterator.payloadLength() <= SHOWN_BYTES_MAX ? near : null;
  }

  /**
   * Copies the value from the heap, for which a claim costs more than the copy. A claim that there
   * was meanwhile is another thread's.
   *
   * @param idle as {@link #requireIdle} returned it before anything of the entry was read
   * @return the value's length
   */
  private int copy(EntryLookahead near, byte[] target, long idle) {
    try {
      return iterator.copyPayload(near, target);
    } finally {
      requireUnclaimed(idle);
    }
  }

  /** Whether the value lies beside its key, in what the view pins, and needs no epoch. */
  private boolean isInline() {
    requireEntry();
    requireValues();
    return Tag.baseKind(iterator.kind()) == Tag.PUT;
  }

  private StoredValue inlineValue() {
    int header = Payload.headerLength(iterator.kind());
    context.value.set(
        iterator.payloadRegion(),
        iterator.payloadOffset() + header,
        iterator.payloadLength() - header);
    return context.value;
  }

  /**
   * The checksum of an inline value's block may be long ago. A copy leaves zeros from where, or up
   * to where, a page could not be read.
   */
  private static void requireRead(ByteBuffer value) {
    int length = value.limit();
    if (length > 0 && (value.get(0) == 0 || value.get(length - 1) == 0)) {
      Region.requirePagesRead();
    }
  }

  private StoredValue loggedValue() {
    long offset = iterator.payloadOffset() + Payload.headerLength(iterator.kind());
    if (ahead != null) {
      if (!ahead.isDue()) {
        ahead.approach(iterator, stepsLeft());
      } else {
        ahead.reach(iterator, offset, stepsLeft());
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
            context.scratch,
            context.value);
    return context.value;
  }

  @Override
  @SuppressWarnings("deprecation") // threadId() exists from 19 on only
  protected long newClaim() {
    long idle = requireIdle();
    return (idle + 1) | ((Thread.currentThread().getId() << OWNER_SHIFT) & OWNER_MASK);
  }

  @Override
  protected void claim(long claim) {
    if (!take((claim & COUNT_MASK) - 1, claim)) {
      throw refusal(claims.get());
    }
    // Whoever sees what this call writes sees the claim as well.
    VarHandle.storeStoreFence();
  }

  /**
   * To be called within a claim before mapped pages are read: it may be another thread than before
   * that does so from now on.
   */
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
   * In place of a claim, for what touches the heap alone: whoever closes the cursor beside it takes
   * nothing away.
   *
   * @return changes with the next claim
   */
  private long requireIdle() {
    long state = claims.get();
    if (isClaimed(state)) {
      throw refusal(state);
    }
    return state;
  }

  /**
   * That nothing read since {@link #requireIdle} was another thread's to change; if something was,
   * that is the error to report, whatever else came up.
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
      // Of a page that was read before; it comes once.
      giveBack(claim);
      throw e;
    }
  }

  private void giveBack(long claim) {
    if (claims.getPlain() == claim) {
      // Whoever claims next sees what this call did; nothing asks for a full fence besides.
      claims.setRelease((claim + 1) & COUNT_MASK);
    }
  }
}
