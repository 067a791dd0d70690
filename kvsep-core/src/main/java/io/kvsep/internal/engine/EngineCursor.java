package io.kvsep.internal.engine;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Attempts;
import io.kvsep.internal.vlog.StoredValue;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A cursor of the engine. Pins a view; each call claims the cursor, so that a second thread or a
 * closing store can never free what a call is working with.
 */
public final class EngineCursor extends LimitedCursor {
  private static final int IDLE = 0;
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  private final StoreReads reads;
  private final View view;
  private final VisibleIterator iterator;
  private final ReadContext context;
  private final @Nullable ReadAhead ahead;
  private final AtomicInteger claim = new AtomicInteger(IDLE);

  /**
   * Takes over the view's reference, the iterator, the context and the read-ahead, null for none.
   */
  EngineCursor(
      StoreReads reads,
      View view,
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
  }

  @Override
  boolean begin(boolean onward) {
    boolean lowest = onward != bounds.reverse();
    moved(lowest);
    return lowest ? iterator.first() : iterator.last();
  }

  @Override
  boolean step(boolean onward) {
    boolean ascending = onward != bounds.reverse();
    moved(ascending);
    return ascending ? iterator.next() : iterator.previous();
  }

  @Override
  boolean jump(byte[] userKey, boolean onward) {
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
    requireIdle();
    requireEntry();
    return Arrays.copyOfRange(iterator.key(), prefixLength, iterator.keyLength());
  }

  @Override
  public ByteBuffer keyView() {
    requireIdle();
    requireEntry();
    return view(iterator.key(), iterator.keyLength());
  }

  /** A copy of the stored key. */
  byte[] storedKey() {
    requireIdle();
    requireEntry();
    return Arrays.copyOf(iterator.key(), iterator.keyLength());
  }

  /** A copy of the value. */
  @Override
  public byte[] value() {
    claim();
    try {
      if (isInline()) {
        return inlineValue().toArray();
      }
      var slot = reads.epochs().enter();
      try {
        return loggedValue().toArray();
      } finally {
        reads.epochs().exit(slot);
      }
    } finally {
      unclaim();
    }
  }

  /** The value without copying it where that is possible; safe however long it is held. */
  @Override
  public ByteBuffer valueView() {
    claim();
    try {
      if (isInline()) {
        return inlineValue().toView();
      }
      var slot = reads.epochs().enter();
      try {
        return loggedValue().toView();
      } finally {
        reads.epochs().exit(slot);
      }
    } finally {
      unclaim();
    }
  }

  /** Whether this is the delete of a key; only a walk over changes comes upon one. */
  boolean isDelete() {
    claim();
    try {
      requireEntry();
      return iterator.kind() == Tag.DELETE;
    } finally {
      unclaim();
    }
  }

  @Override
  public int valueLength() {
    claim();
    try {
      requireEntry();
      int kind = iterator.kind();
      int header = Payload.headerLength(kind);
      return Tag.baseKind(kind) == Tag.PUT
          ? iterator.payloadLength() - header
          : ValuePointer.valueLength(iterator.payloadRegion(), iterator.payloadOffset() + header);
    } finally {
      unclaim();
    }
  }

  /** When the entry expires, {@link #NEVER} when it does not. */
  @Override
  public long expiresAtMillis() {
    claim();
    try {
      requireEntry();
      return Payload.expiresAtMillis(
          iterator.kind(), iterator.payloadRegion(), iterator.payloadOffset());
    } finally {
      unclaim();
    }
  }

  /** Releases everything; waits for a call in another thread to end. */
  @Override
  public void close() {
    boolean interrupted = false;
    while (!claim.compareAndSet(IDLE, CLOSED)) {
      if (claim.get() == CLOSED) {
        return;
      }
      LockSupport.parkNanos(10_000);
      interrupted |= Thread.interrupted();
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    try {
      Attempts closes = new Attempts();
      if (ahead != null) {
        closes.run(ahead::close);
      }
      closes.run(iterator::close);
      closes.run(context::free);
      // Last, since the others look at what it holds.
      closes.run(view::release);
      closes.throwFirst();
    } finally {
      // The store waits for this when it is closed.
      reads.forget(this);
    }
  }

  private void moved(boolean ascending) {
    if (ahead != null) {
      ahead.moved(ascending);
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

  private StoredValue loggedValue() {
    long offset = iterator.payloadOffset() + Payload.headerLength(iterator.kind());
    if (ahead != null) {
      if (!ahead.isDue()) {
        ahead.approach(iterator, stepsLeft());
      } else if (ahead.reach(iterator, offset, stepsLeft(), context.scratch)) {
        context.scratch.expectLoaded();
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
  void claim() {
    if (!claim.compareAndSet(IDLE, BUSY)) {
      throw refusal(claim.get());
    }
  }

  /**
   * In place of a claim, for what touches the heap alone: whoever closes the cursor beside it takes
   * nothing away.
   */
  private void requireIdle() {
    int state = claim.get();
    if (state != IDLE) {
      throw refusal(state);
    }
  }

  private static RuntimeException refusal(int state) {
    return state == CLOSED
        ? new StoreClosedException("the cursor is closed")
        : new IllegalStateException("the cursor is in use by another thread");
  }

  @Override
  void unclaim() {
    // Whoever claims next sees what this call did; nothing asks for a full fence besides.
    claim.setRelease(IDLE);
  }
}
