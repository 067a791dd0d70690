package io.kvsep.internal.memory;

import org.jspecify.annotations.Nullable;

/**
 * Off-heap scratch space that grows on demand and keeps its content; bytes never written are
 * undefined. Not thread safe.
 */
public final class GrowingRegion implements AutoCloseable {
  private final MemoryLedger ledger;
  private final MemoryPurpose purpose;
  private @Nullable Region region;
  private long capacity;

  public GrowingRegion(MemoryLedger ledger, MemoryPurpose purpose) {
    this.ledger = ledger;
    this.purpose = purpose;
  }

  /** Returns at least {@code length} bytes. Invalidates regions returned earlier. */
  public Region ensure(long length) {
    Region current = region;
    return current != null && capacity >= length ? current : grow(current, length);
  }

  /**
   * Keeps {@link #ensure}, which is inlined into every caller, short, and avoids recompiling all of
   * them when the first region grows beyond a MiB.
   */
  private Region grow(@Nullable Region current, long length) {
    Region grown = ledger.allocateUncleared(purpose, capacityFor(length));
    if (current != null) {
      grown.put(0, current, 0, capacity);
    }
    region = grown;
    capacity = grown.length();
    if (current != null) {
      current.free();
    }
    return grown;
  }

  /** At least one byte long. */
  public Region region() {
    Region current = region;
    return current != null ? current : grow(null, 1);
  }

  /** For a {@code length} above the current capacity. */
  public long capacityFor(long length) {
    long more = capacity < 1 << 20 ? capacity * 2 : capacity + capacity / 4;
    return Math.max(64, Math.max(length, more));
  }

  public long capacity() {
    return capacity;
  }

  public boolean isIn(Region candidate) {
    return candidate == region;
  }

  /** The next {@link #ensure} allocates again. */
  @Override
  public void close() {
    Region freed = region;
    // First: the call that frees may throw for a page read before.
    region = null;
    capacity = 0;
    if (freed != null) {
      freed.free();
    }
  }
}
