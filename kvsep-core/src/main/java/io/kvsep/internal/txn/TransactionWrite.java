package io.kvsep.internal.txn;

import io.kvsep.internal.base.Expiry;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The last uncommitted write of a key. */
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
   * Whether this is a delete, or an expiry time has passed. A value with a time to live is present
   * until the commit.
   *
   * @param now called only if needed
   */
  public boolean isAbsent(LongSupplier now) {
    return isDelete() || (timeToLiveMillis < 0 && -timeToLiveMillis <= now.getAsLong());
  }

  /** Must not be modified. Only for a put. */
  public byte[] value() {
    return Objects.requireNonNull(value);
  }

  /** Counts from the commit; 0 for no expiry; a negative number is the negated expiry time. */
  public long timeToLiveMillis() {
    return timeToLiveMillis;
  }

  /** Expiry time if committed at {@code nowMillis}. */
  public long expiresAtMillis(long nowMillis) {
    return Expiry.at(nowMillis, timeToLiveMillis);
  }
}
