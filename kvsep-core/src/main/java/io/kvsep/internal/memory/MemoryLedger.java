package io.kvsep.internal.memory;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Allocates the off-heap memory of a store and counts it by purpose. Mapped files are not counted,
 * because their pages belong to the page cache; mappings kept only for views are counted
 * separately. Thread safe.
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
   * @param lingeringBytesMax bytes of mappings kept only for views; above it no more mappings are
   *     exposed
   */
  MemoryLedger(long lingeringBytesMax) {
    this.lingering = new LingeringMappings(lingeringBytesMax);
  }

  /** Allocates {@code length} zeroed bytes; the caller must {@link Region#free} them. */
  public Region allocate(MemoryPurpose purpose, long length) {
    return count(Region.allocate(this, purpose, length), purpose);
  }

  /**
   * As {@link #allocate}, but uninitialized. The system commits pages only when they are touched.
   */
  public Region allocateUncleared(MemoryPurpose purpose, long length) {
    return count(Region.allocateUncleared(this, purpose, length), purpose);
  }

  private Region count(Region region, MemoryPurpose purpose) {
    long length = region.length();
    bytesByPurpose.addAndGet(purpose.ordinal(), length);
    long now = total.addAndGet(length);
    peak.accumulateAndGet(now, Math::max);
    return region;
  }

  void released(MemoryPurpose purpose, long length) {
    bytesByPurpose.addAndGet(purpose.ordinal(), -length);
    total.addAndGet(-length);
  }

  /** Mappings kept only for views. */
  LingeringMappings lingering() {
    return lingering;
  }

  public long totalBytes() {
    return total.get();
  }

  public long bytes(MemoryPurpose purpose) {
    return bytesByPurpose.get(purpose.ordinal());
  }

  /** Maximum number of bytes held at once. */
  public long peakBytes() {
    return peak.get();
  }

  /** Bytes held, by printed purpose. */
  public Map<String, Long> bytesByPurpose() {
    Map<String, Long> bytes = new HashMap<>();
    for (MemoryPurpose purpose : PURPOSES) {
      bytes.put(purpose.name().toLowerCase(Locale.ROOT), bytes(purpose));
    }
    return bytes;
  }
}
