package io.kvsep.internal.txn;

import io.kvsep.internal.base.Expiry;
import java.util.Objects;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/** The last write of a key in a transaction. */
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
   * Whether there is no value at a moment, as there will be none after the commit. What lives for
   * some time from the commit on is there before it.
   *
   * @param now asked only where it makes a difference
   */
  public boolean isAbsent(LongSupplier now) {
    return isDelete() || (timeToLiveMillis < 0 && -timeToLiveMillis <= now.getAsLong());
  }

  /** The array itself, which must not be written to; of a put only. */
  public byte[] value() {
    return Objects.requireNonNull(value);
  }

  /** How long it lives from the commit on, 0 when without end; or the negative of a moment. */
  public long timeToLiveMillis() {
    return timeToLiveMillis;
  }

  /** When it expires if it is committed at a time. */
  public long expiresAtMillis(long nowMillis) {
    return Expiry.at(nowMillis, timeToLiveMillis);
  }
}
