package io.kvsep.internal.engine;

import io.kvsep.error.StoreClosedException;
import io.kvsep.internal.base.Keyspaces;
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
public final class EngineCursor implements EntryCursor {
  private static final int IDLE = 0;
  private static final int BUSY = 1;
  private static final int CLOSED = 2;

  /** Where the cursor stands, in its own order. */
  private enum Place {
    FRESH,
    BEFORE_FIRST,
    ON_ENTRY,
    AFTER_LAST,
    /** The limit is reached; the iterator still stands on the last entry found. */
    PAST_LIMIT,
    /** A move failed half way: only a seek leads out. */
    LOST
  }

  private final StoreReads reads;
  private final View view;
  private final VisibleIterator iterator;
  private final ReadContext context;
  private final @Nullable ReadAhead ahead;
  private final int prefixLength;
  private final ScanBounds bounds;
  private final AtomicInteger claim = new AtomicInteger(IDLE);

  private Place place = Place.FRESH;

  /** Steps forward to where the limit ends; back from there gives one for each step. */
  private long stepsLeft;

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
    this.reads = reads;
    this.view = view;
    this.iterator = iterator;
    this.context = context;
    this.ahead = ahead;
    this.bounds = bounds;
    this.prefixLength = Keyspaces.prefixLength(bounds.keyspace());
    this.stepsLeft = bounds.limit();
  }

  @Override
  public boolean next() {
    claim();
    try {
      Place from = place;
      if (from == Place.PAST_LIMIT || (from == Place.ON_ENTRY && stepsLeft == 0)) {
        place = Place.PAST_LIMIT;
        return false;
      }
      place = Place.LOST;
      step(!bounds.reverse());
      boolean found =
          switch (from) {
            case FRESH, BEFORE_FIRST -> bounds.reverse() ? iterator.last() : iterator.first();
            case ON_ENTRY -> bounds.reverse() ? iterator.previous() : iterator.next();
            case AFTER_LAST, PAST_LIMIT -> false;
            case LOST -> throw lost();
          };
      return arrive(found, Place.AFTER_LAST);
    } finally {
      unclaim();
    }
  }

  @Override
  public boolean previous() {
    claim();
    try {
      Place from = place;
      if (from == Place.PAST_LIMIT) {
        place = Place.ON_ENTRY;
        return true;
      }
      place = Place.LOST;
      step(bounds.reverse());
      boolean found =
          switch (from) {
            case FRESH, AFTER_LAST -> bounds.reverse() ? iterator.first() : iterator.last();
            case ON_ENTRY -> bounds.reverse() ? iterator.next() : iterator.previous();
            case BEFORE_FIRST, PAST_LIMIT -> false;
            case LOST -> throw lost();
          };
      if (from == Place.FRESH) {
        return arrive(found, Place.BEFORE_FIRST);
      }
      // A step back, also off the front, is one that next() may take again.
      if (from == Place.ON_ENTRY && stepsLeft < Long.MAX_VALUE) {
        stepsLeft++;
      }
      boolean shown = found && bounds.limit() > 0;
      place = shown ? Place.ON_ENTRY : Place.BEFORE_FIRST;
      return shown;
    } finally {
      unclaim();
    }
  }

  /** To the first entry at or after {@code userKey} in the cursor's order. */
  @Override
  public boolean seek(byte[] userKey) {
    claim();
    try {
      stepsLeft = bounds.limit();
      place = Place.LOST;
      jump();
      byte[] key = bounds.storedKey(userKey);
      boolean found = bounds.reverse() ? iterator.seekAtOrBefore(key) : iterator.seekAtOrAfter(key);
      return arrive(found, Place.AFTER_LAST);
    } finally {
      unclaim();
    }
  }

  /** To the last entry at or before {@code userKey} in the cursor's order. */
  @Override
  public boolean seekFloor(byte[] userKey) {
    claim();
    try {
      stepsLeft = bounds.limit();
      place = Place.LOST;
      jump();
      byte[] key = bounds.storedKey(userKey);
      boolean found = bounds.reverse() ? iterator.seekAtOrAfter(key) : iterator.seekAtOrBefore(key);
      return arrive(found, Place.BEFORE_FIRST);
    } finally {
      unclaim();
    }
  }

  /** To the first entry in the cursor's order. */
  boolean toFirst() {
    return toEnd(!bounds.reverse(), Place.AFTER_LAST);
  }

  /** To the last entry in the cursor's order. */
  boolean toLast() {
    return toEnd(bounds.reverse(), Place.BEFORE_FIRST);
  }

  private boolean toEnd(boolean lowest, Place otherwise) {
    claim();
    try {
      stepsLeft = bounds.limit();
      place = Place.LOST;
      jump();
      return arrive(lowest ? iterator.first() : iterator.last(), otherwise);
    } finally {
      unclaim();
    }
  }

  @Override
  public boolean isValid() {
    requireIdle();
    return place == Place.ON_ENTRY;
  }

  /** A copy of the user key. */
  @Override
  public byte[] key() {
    requireIdle();
    requireEntry();
    return Arrays.copyOfRange(iterator.key(), prefixLength, iterator.keyLength());
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

  private void step(boolean ascending) {
    if (ahead != null) {
      ahead.moved(ascending);
    }
  }

  private void jump() {
    if (ahead != null) {
      ahead.jumped(!bounds.reverse());
    }
  }

  /** After a step forward, or where the walk begins. */
  private boolean arrive(boolean found, Place otherwise) {
    if (found && stepsLeft > 0) {
      stepsLeft--;
      place = Place.ON_ENTRY;
      return true;
    }
    place = otherwise;
    return false;
  }

  /** Whether the value lies beside its key, in what the view pins, and needs no epoch. */
  private boolean isInline() {
    requireEntry();
    if (bounds.keysOnly()) {
      throw new IllegalStateException("a keys-only cursor has no values");
    }
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
        ahead.approach(iterator, stepsLeft);
      } else if (ahead.reach(iterator, offset, stepsLeft, context.scratch)) {
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

  private static IllegalStateException lost() {
    return new IllegalStateException("the last move of the cursor failed; seek first");
  }

  private void requireEntry() {
    if (place != Place.ON_ENTRY) {
      throw new IllegalStateException("the cursor does not stand on an entry");
    }
  }

  private void claim() {
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

  private void unclaim() {
    // Whoever claims next sees what this call did; nothing asks for a full fence besides.
    claim.setRelease(IDLE);
  }

  /** Copies the user key to the start of {@code target} if it fits; returns its length. */
  @Override
  public int keyInto(byte[] target) {
    requireIdle();
    requireEntry();
    int length = iterator.keyLength() - prefixLength;
    if (length <= target.length) {
      System.arraycopy(iterator.key(), prefixLength, target, 0, length);
    }
    return length;
  }
}
