package io.kvsep.internal.read;

import io.kvsep.internal.base.Keyspaces;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.jspecify.annotations.Nullable;

/**
 * Position of a cursor in its own order, which may be descending, and its limit. Subclasses
 * iterate. Each call claims the cursor.
 */
public abstract class BoundedCursor implements InternalCursor {
  private enum Place {
    FRESH,
    BEFORE_FIRST,
    ON_ENTRY,
    AFTER_LAST,
    /** The limit is reached; the iterator is still on the last entry found. */
    PAST_LIMIT,
    /** A move failed half-way; only a seek recovers. */
    LOST
  }

  public final ScanBounds bounds;
  public final int prefixLength;
  private Place place = Place.FRESH;

  /** Steps forward until the limit; each step back adds one. */
  private long stepsLeft;

  /** View and array of a key in one object, so that they match. */
  private static final class ShownKey {
    final byte[] storedKey;
    final ByteBuffer view;

    ShownKey(byte[] storedKey, int prefixLength) {
      this.storedKey = storedKey;
      this.view = ByteBuffer.wrap(storedKey).position(prefixLength).slice().asReadOnlyBuffer();
    }
  }

  private @Nullable ShownKey shownKey;

  public BoundedCursor(ScanBounds bounds) {
    this.bounds = bounds;
    this.prefixLength = Keyspaces.prefixLength(bounds.keyspace());
    this.stepsLeft = bounds.limit();
  }

  /**
   * Returns the argument of {@link #claim} and {@link #unclaim}, or refuses the call. Since a
   * deferred page fault may surface as any method returns, the claim is taken inside the {@code
   * try} whose {@code finally} releases it.
   */
  protected abstract long newClaim();

  /** Excludes other threads until {@link #unclaim}. */
  protected abstract void claim(long claim);

  /** Releases the claim, if it was taken. */
  protected abstract void unclaim(long claim);

  /** Moves to the first or last entry in the cursor's order; returns whether there is one. */
  protected abstract boolean begin(boolean ahead);

  /** Moves to the next or previous entry in the cursor's order. */
  protected abstract boolean step(boolean ahead);

  /**
   * Moves to the first entry at or after the key, or the last at or before it, in the cursor's
   * order.
   */
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
      // The common case, without the switch.
      boolean found = from == Place.ON_ENTRY ? step(/* ahead= */ true) : stepFromEnd(from);
      return arrive(found, Place.AFTER_LAST);
    } finally {
      unclaim(claim);
    }
  }

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
      // next() may repeat a step back, even one past the first entry.
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
    return restart(userKey, /* ahead= */ true);
  }

  @Override
  public final boolean seekFloor(byte[] userKey) {
    return restart(userKey, /* ahead= */ false);
  }

  /** Restarts at the first or last entry in the cursor's order. */
  public final boolean toEnd(boolean first) {
    return restart(/* userKey= */ null, first);
  }

  private boolean restart(byte @Nullable [] userKey, boolean ahead) {
    long claim = newClaim();
    try {
      claim(claim);
      stepsLeft = bounds.limit();
      place = Place.LOST;
      boolean found = mayShow() && (userKey == null ? begin(ahead) : jump(userKey, ahead));
      return arrive(found, ahead ? Place.AFTER_LAST : Place.BEFORE_FIRST);
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

  /** With a limit of 0 a transaction records no read. */
  private boolean mayShow() {
    return bounds.limit() > 0;
  }

  /** Finishes a step forward or an initial move. */
  private boolean arrive(boolean found, Place otherwise) {
    if (found && stepsLeft > 0) {
      stepsLeft--;
      place = Place.ON_ENTRY;
      return true;
    }
    place = otherwise;
    return false;
  }

  /** An uncopied view of the user key in a stored key, reused if possible. */
  protected final ByteBuffer view(byte[] storedKey, int length) {
    ShownKey shown = shownKey;
    if (shown == null || shown.storedKey != storedKey) {
      shown = new ShownKey(storedKey, prefixLength);
      shownKey = shown;
    }
    return shown.view.limit(length - prefixLength).position(0).order(ByteOrder.BIG_ENDIAN);
  }

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
