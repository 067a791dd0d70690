package io.kvsep.internal.memory;

import org.jspecify.annotations.Nullable;

/**
 * Off-heap scratch space that grows on demand, for one owner at a time: keys, blocks and values
 * being put together. Growing keeps the contents; what was never written may hold anything, as
 * after any other use of the space. Not thread safe.
 */
public final class GrowingRegion implements AutoCloseable {
  private final MemoryLedger ledger;
  private final MemoryPurpose purpose;
  private @Nullable Region region;

  public GrowingRegion(MemoryLedger ledger, MemoryPurpose purpose) {
    this.ledger = ledger;
    this.purpose = purpose;
  }

  /**
   * The region, at least {@code length} bytes long. A region returned earlier may be freed by this
   * call: never keep one across it.
   */
  public Region ensure(long length) {
    Region current = region;
    return current != null && current.length() >= length ? current : grow(current, length);
  }

  /**
   * Apart from {@link #ensure}, which is compiled into every caller: so that stays short, and the
   * first space that grows beyond a MiB does not have them all compiled anew.
   */
  private Region grow(@Nullable Region current, long length) {
    Region grown = ledger.allocateUncleared(purpose, capacityFor(length));
    if (current != null) {
      grown.put(0, current, 0, current.length());
      current.free();
    }
    region = grown;
    return grown;
  }

  /** The region as it is, at least one byte long. */
  public Region region() {
    return ensure(1);
  }

  /** Bytes held once the space has grown to {@code length}, which is more than it holds now. */
  public long capacityFor(long length) {
    long held = capacity();
    return Math.max(64, Math.max(length, held < 1 << 20 ? held * 2 : held + held / 4));
  }

  /** Bytes held now. */
  public long capacity() {
    return region == null ? 0 : region.length();
  }

  /** Whether {@code candidate} is the region as it is. */
  public boolean isIn(Region candidate) {
    return candidate == region;
  }

  /** Gives the memory back; the next {@link #ensure} starts anew. */
  @Override
  public void close() {
    if (region != null) {
      region.free();
      region = null;
    }
  }
}
