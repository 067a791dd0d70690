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
 * A cursor over a transaction's snapshot with the transaction's own writes on top, those that were
 * there when it was made. Remembers which keys it has passed over, for the transaction.
 *
 * <p>Invariants, everything in the cursor's order, which may be descending:
 *
 * <ol>
 *   <li>The store's cursor stands at the current key or behind it in the direction of the last
 *       move, on an entry that no own write hides, or on none.
 *   <li>Own writes are found from the current key each time: they have no place of their own.
 *   <li>What was read since the last jump is one range; steps only make it longer.
 * </ol>
 *
 * Not thread safe: each call claims the transaction.
 */
final class TransactionCursor extends BoundedCursor {
  private final EngineTransaction transaction;
  private final SnapshotCursor store;
  private final WritesSnapshot own;
  private final Clock clock;
  private final LongSupplier now;
  private final byte[] lower;
  private final byte[] upper;

  /** The current stored key. */
  private byte[] at = new byte[0];

  /** The key as it was asked for last, in an array that stays, so that views of it can. */
  private byte[] shownKey = new byte[64];

  /** The current entry when it is the transaction's own. */
  private @Nullable TransactionWrite ownWrite;

  /** Stored key of the store's entry. */
  private byte @Nullable [] storeKey;

  /** Direction of the last move. */
  private boolean forward;

  /** What was read since the last jump: from here on, null for nothing. */
  private byte @Nullable [] readFrom;

  /** Up to this stored key. */
  private byte[] readTo = new byte[0];

  /** And that key too. */
  private boolean readToInclusive;

  /** Takes the store's cursor over. */
  TransactionCursor(
      EngineTransaction transaction,
      SnapshotCursor store,
      WritesSnapshot own,
      ScanBounds bounds,
      Clock clock) {
    super(bounds);
    this.transaction = transaction;
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
      return write == null ? store.valueView() : EngineTransaction.view(write);
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

  /** Of an own write: when it will expire if it is committed now. */
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
    transaction.close(this);
  }

  /** Closes the store's cursor; called by the transaction. */
  void release() {
    store.close();
  }

  /** Tells the transaction what was read since the last jump. */
  void tellRead() {
    byte[] from = readFrom;
    if (from != null) {
      transaction.read(from, readTo, readToInclusive);
    }
  }

  @Override
  protected long newClaim() {
    return transaction.holds();
  }

  @Override
  protected void claim(long holds) {
    transaction.claim();
    // Throws when it is closed, also with the store.
    store.isValid();
  }

  @Override
  protected void unclaim(long holds) {
    transaction.end(holds);
  }

  @Override
  protected boolean begin(boolean ahead) {
    tellRead();
    readFrom = null;
    forward = ahead;
    load(store.toEnd(ahead));
    boolean ascending = ascending();
    boolean found = settle(ascending ? lower : upper, /* inclusive= */ ascending);
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
      boolean found = settle(from, /* inclusive= */ true);
      startReading(from, found ? at : upper, found);
      return found;
    }
    boolean beyond = Arrays.compareUnsigned(key, upper) >= 0;
    byte[] from = beyond ? upper : key;
    boolean found = settle(from, /* inclusive= */ !beyond);
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
    boolean found = settle(from, /* inclusive= */ false);
    if (ascending()) {
      readOnTo(found ? at : upper, found);
    } else {
      readBackTo(found ? at : lower);
    }
    return found;
  }

  /**
   * Moves the store's cursor over what own writes hide, and stands on what comes first from there:
   * its entry, or an own one from {@code from} on. Whether there is either.
   */
  private boolean settle(byte[] from, boolean inclusive) {
    skipHidden();
    byte[] stored = storeKey;
    // No further than to the store's entry: what lies behind that is looked at when it is its turn,
    // and once.
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

  /** Moves the store's cursor over a deleted range in one go. */
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
