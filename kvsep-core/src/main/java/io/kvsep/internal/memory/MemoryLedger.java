package io.kvsep.internal.memory;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Allocates the off-heap memory of a store and counts it by purpose. Does not count mapped files,
 * whose pages belong to the page cache; counts mappings kept only for views apart. Thread safe.
 *
 * <p>Not final, so that tests can simulate running out of memory.
 */
public class MemoryLedger {
  private static final MemoryPurpose[] PURPOSES = MemoryPurpose.values();

  /** An estimate: two files of a store of one gigabyte. */
  private static final long LINGERING_BYTES_MAX = 64 << 20;

  private final LingeringMappings lingering;
  private final AtomicLongArray bytesByPurpose = new AtomicLongArray(PURPOSES.length);
  private final AtomicLong total = new AtomicLong();
  private final AtomicLong peak = new AtomicLong();

  public MemoryLedger() {
    this(LINGERING_BYTES_MAX);
  }

  /**
   * @param lingeringBytesMax of mappings kept only for views; above it no more are exposed
   */
  MemoryLedger(long lingeringBytesMax) {
    this.lingering = new LingeringMappings(lingeringBytesMax);
  }

  /** Zeroed; the caller must {@link Region#free} it. */
  public Region allocate(MemoryPurpose purpose, long length) {
    return count(Region.allocate(this, purpose, length), purpose);
  }

  /** Uninitialized: the system commits pages only when they are touched. */
  public Region allocateUncleared(MemoryPurpose purpose, long length) {
    return count(Region.allocateUncleared(this, purpose, length), purpose);
  }

  private Region count(Region region, MemoryPurpose purpose) {
    long length = region.length();
    bytesByPurpose.addAndGet(purpose.ordinal(), length);
    long now = total.addAndGet(length);
    if (now > peak.get()) {
      peak.accumulateAndGet(now, Math::max);
    }
    return region;
  }

  void released(MemoryPurpose purpose, long length) {
    bytesByPurpose.addAndGet(purpose.ordinal(), -length);
    total.addAndGet(-length);
  }

  LingeringMappings lingering() {
    return lingering;
  }

  public long totalBytes() {
    return total.get();
  }

  public long bytes(MemoryPurpose purpose) {
    return bytesByPurpose.get(purpose.ordinal());
  }

  public long peakBytes() {
    return peak.get();
  }

  /** Keyed by purpose in lower case. */
  public Map<String, Long> bytesByPurpose() {
    Map<String, Long> bytes = new HashMap<>();
    for (MemoryPurpose purpose : PURPOSES) {
      bytes.put(purpose.name().toLowerCase(Locale.ROOT), bytes(purpose));
    }
    return bytes;
  }
}
