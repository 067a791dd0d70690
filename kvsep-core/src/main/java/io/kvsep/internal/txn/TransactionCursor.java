package io.kvsep.internal.txn;

import io.kvsep.internal.read.BoundedCursor;
import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.internal.txn.WritesSnapshot.OwnPut;
import java.nio.ByteBuffer;
import java.time.Clock;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A cursor over the store and the uncommitted writes that existed when the cursor was created.
 * Notes what it has read.
 *
 * <p>Invariants, in the cursor's order, which may be descending:
 *
 * <ul>
 *   <li>I1: the store's cursor is at the current key or past it in the direction of the last move,
 *       on an entry that no own write hides, or on none.
 *   <li>I2: own writes are looked up from the current key each time; they have no position.
 *   <li>I3: the reads since the last jump are one range, which steps only extend.
 * </ul>
 *
 * <p>Not thread safe: each call claims the overlaid.
 */
final class TransactionCursor extends BoundedCursor {
  private final UncommittedView overlaid;
  private final SnapshotCursor store;
  private final WritesSnapshot own;
  private final Clock clock;
  private final LongSupplier now;
  private final byte[] lower;
  private final byte[] upper;

  /** Stored. */
  private byte[] at = new byte[0];

  /** Copy of the key for {@link #keyView}; reused, so that the view can be too. */
  private byte[] shownKey = new byte[64];

  /** Null if the current entry is the store's. */
  private @Nullable TransactionWrite ownWrite;

  /** Stored key of the store's entry. */
  private byte @Nullable [] storeKey;

  private boolean forward;

  /** Start of the range read since the last jump, null for none. */
  private byte @Nullable [] readFrom;

  /** End of that range. */
  private byte[] readTo = new byte[0];

  /** Whether {@link #readTo} itself was read. */
  private boolean readToInclusive;

  /** Takes over the store's cursor. */
  TransactionCursor(
      UncommittedView overlaid,
      SnapshotCursor store,
      WritesSnapshot own,
      ScanBounds bounds,
      Clock clock) {
    super(bounds);
    this.overlaid = overlaid;
    this.store = store;
    this.own = own;
    this.clock = clock;
    this.now = clock::millis;
    this.lower = bounds.lower();
    this.upper = bounds.upper();
  }

  @Override
  public byte[] key() {
    long claim = newClaim();
    try {
      claim(claim);
      requireEntry();
      return userKey(at);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public ByteBuffer keyView() {
    long claim = newClaim();
    try {
      claim(claim);
      requireEntry();
      if (at.length > shownKey.length) {
        shownKey = new byte[Math.max(at.length, 2 * shownKey.length)];
      }
      System.arraycopy(at, 0, shownKey, 0, at.length);
      return view(shownKey, at.length);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public byte[] value() {
    long claim = newClaim();
    try {
      claim(claim);
      TransactionWrite write = ownEntry();
      requireValues();
      return write == null ? store.value() : write.value().clone();
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public ByteBuffer valueView() {
    long claim = newClaim();
    try {
      claim(claim);
      TransactionWrite write = ownEntry();
      requireValues();
      return write == null ? store.valueView() : UncommittedView.view(write);
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public int valueLength() {
    long claim = newClaim();
    try {
      claim(claim);
      TransactionWrite write = ownEntry();
      return write == null ? store.valueLength() : write.value().length;
    } finally {
      unclaim(claim);
    }
  }

  /** For an own write, as if it were committed now. */
  @Override
  public long expiresAtMillis() {
    long claim = newClaim();
    try {
      claim(claim);
      TransactionWrite write = ownEntry();
      if (write == null) {
        return store.expiresAtMillis();
      }
      return write.timeToLiveMillis() == 0 ? NEVER : write.expiresAtMillis(clock.millis());
    } finally {
      unclaim(claim);
    }
  }

  @Override
  public void close() {
    overlaid.close(this);
  }

  /** Called by the overlaid. */
  void release() {
    store.close();
  }

  /** Reports the range read since the last jump to the overlaid. */
  void tellRead() {
    byte[] from = readFrom;
    if (from != null) {
      overlaid.noteRead(from, readTo, readToInclusive);
    }
  }

  @Override
  protected long newClaim() {
    return overlaid.holds();
  }

  @Override
  protected void claim(long holds) {
    overlaid.claim();
    // Throws if the cursor or the store is closed.
    store.isValid();
  }

  @Override
  protected void unclaim(long holds) {
    overlaid.end(holds);
  }

  @Override
  protected boolean begin(boolean ahead) {
    tellRead();
    readFrom = null;
    forward = ahead;
    load(store.toEnd(ahead));
    boolean ascending = ascending();
    boolean found = positionAt(ascending ? lower : upper, /* inclusive= */ ascending);
    if (ascending) {
      startReading(lower, found ? at : upper, found);
    } else {
      startReading(found ? at : lower, upper, false);
    }
    return found;
  }

  @Override
  protected boolean jump(byte[] userKey, boolean ahead) {
    tellRead();
    readFrom = null;
    forward = ahead;
    load(ahead ? store.seek(userKey) : store.seekFloor(userKey));
    byte[] key = bounds.storedKey(userKey);
    if (ascending()) {
      byte[] from = Arrays.compareUnsigned(key, lower) < 0 ? lower : key;
      boolean found = positionAt(from, /* inclusive= */ true);
      startReading(from, found ? at : upper, found);
      return found;
    }
    boolean beyond = Arrays.compareUnsigned(key, upper) >= 0;
    byte[] from = beyond ? upper : key;
    boolean found = positionAt(from, /* inclusive= */ !beyond);
    startReading(found ? at : lower, from, !beyond);
    return found;
  }

  @Override
  protected boolean step(boolean ahead) {
    byte[] from = at;
    if (forward != ahead) {
      forward = ahead;
      byte[] userKey = userKey(from);
      load(ahead ? store.seek(userKey) : store.seekFloor(userKey));
    }
    if (Arrays.equals(storeKey, from)) {
      moveStore();
    }
    boolean found = positionAt(from, /* inclusive= */ false);
    if (ascending()) {
      readOnTo(found ? at : upper, found);
    } else {
      readBackTo(found ? at : lower);
    }
    return found;
  }

  /**
   * Moves the store's cursor past entries that own writes hide, and selects its entry or an own put
   * from {@code from} on, whichever comes first. Returns whether there is one.
   */
  private boolean positionAt(byte[] from, boolean inclusive) {
    skipHidden();
    byte[] stored = storeKey;
    // Up to the store's entry only, so that each own write is visited once.
    OwnPut put =
        ascending()
            ? own.putAfter(from, inclusive, stored == null ? upper : stored, now)
            : own.putBefore(from, inclusive, stored == null ? lower : stored, now);
    if (put != null) {
      at = put.key();
      ownWrite = put.write();
      return true;
    }
    ownWrite = null;
    if (stored == null) {
      return false;
    }
    at = stored;
    return true;
  }

  private void skipHidden() {
    if (own.isEmpty()) {
      return;
    }
    byte[] stored = storeKey;
    while (stored != null) {
      WritesSnapshot.Range range = own.rangeAround(stored);
      if (range != null) {
        leap(range);
      } else if (own.hasPoint(stored)) {
        moveStore();
      } else {
        return;
      }
      stored = storeKey;
    }
  }

  /** Moves the store's cursor past a deleted range in one seek. */
  private void leap(WritesSnapshot.Range range) {
    boolean ascending = ascending();
    byte[] target = userKey(ascending ? range.to() : range.from());
    load(forward ? store.seek(target) : store.seekFloor(target));
    if (!ascending && Arrays.equals(storeKey, range.from())) {
      moveStore();
    }
  }

  private void moveStore() {
    load(forward ? store.next() : store.previous());
  }

  private void load(boolean found) {
    storeKey = found ? store.storedKey() : null;
  }

  private boolean ascending() {
    return forward != bounds.reverse();
  }

  private void startReading(byte[] from, byte[] to, boolean inclusive) {
    readFrom = from;
    readTo = to;
    readToInclusive = inclusive;
  }

  private void readOnTo(byte[] to, boolean inclusive) {
    int order = Arrays.compareUnsigned(to, readTo);
    if (order > 0 || (order == 0 && inclusive)) {
      readTo = to;
      readToInclusive = inclusive;
    }
  }

  private void readBackTo(byte[] from) {
    if (Arrays.compareUnsigned(from, Objects.requireNonNull(readFrom)) < 0) {
      readFrom = from;
    }
  }

  private @Nullable TransactionWrite ownEntry() {
    requireEntry();
    return ownWrite;
  }

  private byte[] userKey(byte[] stored) {
    return Arrays.copyOfRange(stored, prefixLength, stored.length);
  }
}
