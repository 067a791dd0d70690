package io.kvsep.internal.iterator;

import io.kvsep.internal.base.Tag;
import io.kvsep.internal.memory.Region;
import java.util.OptionalLong;

/**
 * The payload of an index entry, the same in memtables and tables:
 *
 * <pre>
 * kind              payload
 * DELETE            nothing
 * PUT               value
 * POINTER           pointer, see {@link ValuePointer}
 * PUT|EXPIRES       expiresAtMillis u64 little-endian, value
 * POINTER|EXPIRES   expiresAtMillis u64 little-endian, pointer
 * </pre>
 */
public final class Payload {
  public static final int EXPIRY_BYTES = 8;

  /** Stands for no expiry. */
  public static final long NEVER = Long.MAX_VALUE;

  private Payload() {}

  /** Bytes before the value or pointer. */
  public static int headerLength(int kind) {
    return Tag.expires(kind) ? EXPIRY_BYTES : 0;
  }

  /** Unix time in milliseconds from which on the entry counts as absent. */
  public static long expiresAtMillis(int kind, Region region, long offset) {
    return Tag.expires(kind) ? region.getLong(offset) : NEVER;
  }

  public static OptionalLong expiry(long expiresAtMillis) {
    return expiresAtMillis == NEVER ? OptionalLong.empty() : OptionalLong.of(expiresAtMillis);
  }
}
