package io.kvsep.internal.read;

import io.kvsep.internal.base.Keyspaces;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Where a cursor stands in its own order, which may be descending, and how far its limit lets it
 * go; what it walks over is the subclass's. Each call claims the cursor.
 */
public abstract class BoundedCursor implements InternalCursor {
  private enum Place {
    FRESH,
    BEFORE_FIRST,
    ON_ENTRY,
    AFTER_LAST,
    /** The limit is reached; what is walked over still stands on the last entry found. */
    PAST_LIMIT,
    /** A move failed half way: only a seek leads out. */
    LOST
  }

  public final ScanBounds bounds;
  public final int prefixLength;
  private Place place = Place.FRESH;

  /** Steps ahead to where the limit ends; back from there gives one for each step. */
  private long stepsLeft;

  /** A view of the user keys that lie in one array: one object, so that both belong together. */
  private static final class ShownKey {
    final byte[] storedKey;
    final ByteBuffer view;

    ShownKey(byte[] storedKey, int prefixLength) {
      this.storedKey = storedKey;
      this.view = ByteBuffer.wrap(storedKey).position(prefixLength).slice().asReadOnlyBuffer();
    }
  }

  /** For {@link #view}; null until that is asked for. */
  private @Nullable ShownKey shownKey;

  public BoundedCursor(ScanBounds bounds) {
    this.bounds = bounds;
    this.prefixLength = Keyspaces.prefixLength(bounds.keyspace());
    this.stepsLeft = bounds.limit();
  }

  /**
   * What {@link #claim} and {@link #unclaim} of a call go by. Takes nothing yet, but may refuse the
   * call: what an unreadable page of a mapping raises late may surface as a method returns, so a
   * claim is taken in the {@code try} at the end of which it is given back.
   */
  protected abstract long newClaim();

  /** Keeps everybody else out until {@link #unclaim}. */
  protected abstract void claim(long claim);

  /** Ends the claim, if it was taken. */
  protected abstract void unclaim(long claim);

  /** To the first entry, or the last, in the cursor's order; whether there is one. */
  protected abstract boolean begin(boolean ahead);

  /** From the current entry to the next, or the previous, in the cursor's order. */
  protected abstract boolean step(boolean ahead);

  /** To the first entry at or after a key in the cursor's order, or the last at or before it. */
  protected abstract boolean jump(byte[] userKey, boolean ahead);

  @Override
  public final boolean next() {
    long claim = newClaim();
    try {
      claim(claim);
      Place from = place;
      if (from == Place.PAST_LIMIT || (from == Place.ON_ENTRY && stepsLeft == 0)) {
        place = Place.PAST_LIMIT;
        return false;
      }
      place = Place.LOST;
      // What all but the first calls do, without looking at the others.
      boolean found = from == Place.ON_ENTRY ? step(/* ahead= */ true) : stepFromEnd(from);
      return arrive(found, Place.AFTER_LAST);
    } finally {
      unclaim(claim);
    }
  }

  /** To the first entry from in front of it, and to none from behind the last one. */
  private boolean stepFromEnd(Place from) {
    return switch (from) {
      case FRESH, BEFORE_FIRST -> mayShow() && begin(/* ahead= */ true);
      case LOST -> throw lost();
      default -> false;
    };
  }

  @Override
  public final boolean previous() {
    long claim = newClaim();
    try {
      claim(claim);
      Place from = place;
      if (from == Place.PAST_LIMIT) {
        place = Place.ON_ENTRY;
        return true;
      }
      place = Place.LOST;
      boolean found =
          switch (from) {
            case FRESH, AFTER_LAST -> mayShow() && begin(/* ahead= */ false);
            case ON_ENTRY -> step(/* ahead= */ false);
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
      place = found ? Place.ON_ENTRY : Place.BEFORE_FIRST;
      return found;
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public final boolean seek(byte[] userKey) {
    long claim = newClaim();
    try {
      claim(claim);
      restart();
      return arrive(mayShow() && jump(userKey, /* ahead= */ true), Place.AFTER_LAST);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public final boolean seekFloor(byte[] userKey) {
    long claim = newClaim();
    try {
      claim(claim);
      restart();
      return arrive(mayShow() && jump(userKey, /* ahead= */ false), Place.BEFORE_FIRST);
    } finally {
      unclaim(claim);
    }
  }

  /** As a fresh one would, to the first entry or the last in the cursor's order. */
  public final boolean toEnd(boolean first) {
    long claim = newClaim();
    try {
      claim(claim);
      restart();
      return arrive(mayShow() && begin(first), first ? Place.AFTER_LAST : Place.BEFORE_FIRST);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public boolean isValid() {
    long claim = newClaim();
    try {
      claim(claim);
      return standsOnEntry();
    } finally {
      unclaim(claim);
    }
  }

  /** Where the limit is 0 nothing is looked at, so that a transaction has not read anything. */
  private boolean mayShow() {
    return bounds.limit() > 0;
  }

  /** The limit counts anew. */
  private void restart() {
    stepsLeft = bounds.limit();
    place = Place.LOST;
  }

  /** After a step ahead, or where the walk begins. */
  private boolean arrive(boolean found, Place otherwise) {
    if (found && stepsLeft > 0) {
      stepsLeft--;
      place = Place.ON_ENTRY;
      return true;
    }
    place = otherwise;
    return false;
  }

  /** The user key's part of a stored key, without copying it; one object as long as it can be. */
  protected final ByteBuffer view(byte[] storedKey, int length) {
    ShownKey shown = shownKey;
    if (shown == null || shown.storedKey != storedKey) {
      shown = new ShownKey(storedKey, prefixLength);
      shownKey = shown;
    }
    return shown.view.limit(length - prefixLength).position(0).order(ByteOrder.BIG_ENDIAN);
  }

  /** Entries that may still be found. */
  protected final long stepsLeft() {
    return stepsLeft;
  }

  protected final boolean standsOnEntry() {
    return place == Place.ON_ENTRY;
  }

  protected final void requireEntry() {
    if (!standsOnEntry()) {
      throw new IllegalStateException("the cursor does not stand on an entry");
    }
  }

  protected final void requireValues() {
    if (bounds.keysOnly()) {
      throw new IllegalStateException("a keys-only cursor has no values");
    }
  }

  private static IllegalStateException lost() {
    return new IllegalStateException("the last move of the cursor failed; seek first");
  }
}
