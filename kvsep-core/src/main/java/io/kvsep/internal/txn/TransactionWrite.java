package io.kvsep.internal.txn;

import io.kvsep.internal.base.Expiry;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** A transaction's last write of a key. */
public final class TransactionWrite {
  public static final TransactionWrite DELETE = new TransactionWrite(null, 0);

  private final byte @Nullable [] value;
  private final long timeToLiveMillis;

  TransactionWrite(byte @Nullable [] value, long timeToLiveMillis) {
    this.value = value;
    this.timeToLiveMillis = timeToLiveMillis;
  }

  public boolean isDelete() {
    return value == null;
  }

  /**
   * Whether there is no value: a delete, or an expiry time that has passed. A time to live counts
   * from the commit, so such a value is present before it.
   *
   * @param now used only if needed
   */
  public boolean isAbsent(LongSupplier now) {
    return isDelete() || (timeToLiveMillis < 0 && -timeToLiveMillis <= now.getAsLong());
  }

  /** The array itself, which must not be modified. Only for a put. */
  public byte[] value() {
    return Objects.requireNonNull(value);
  }

  /** Counts from the commit; 0 for no expiry; a negative number is the negated expiry time. */
  public long timeToLiveMillis() {
    return timeToLiveMillis;
  }

  /** When it expires if committed at {@code nowMillis}. */
  public long expiresAtMillis(long nowMillis) {
    return Expiry.at(nowMillis, timeToLiveMillis);
  }
}
