package io.kvsep.internal.memory;

import java.util.EnumMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Counts every off-heap byte a store owns, by purpose, and hands the memory out. Mapped files are
 * not counted: their pages belong to the operating system's cache. Only what of them outlives its
 * use for the sake of views is known, apart from the rest. Thread safe.
 *
 * <p>Not final, so that memory can run out where a test wants it.
 */
public class MemoryLedger {
  private static final MemoryPurpose[] PURPOSES = MemoryPurpose.values();

  /** By judgement: two files of a store of a gigabyte. */
  private static final long LINGERING_BYTES_MAX = 64 << 20;

  private final LingeringMappings lingering;
  private final AtomicLongArray bytesByPurpose = new AtomicLongArray(PURPOSES.length);
  private final AtomicLong total = new AtomicLong();
  private final AtomicLong peak = new AtomicLong();

  public MemoryLedger() {
    this(LINGERING_BYTES_MAX);
  }

  /**
   * As above.
   *
   * @param lingeringBytesMax bytes of mappings that views may keep beyond their time before no
   *     views of others are handed out
   */
  MemoryLedger(long lingeringBytesMax) {
    this.lingering = new LingeringMappings(lingeringBytesMax);
  }

  /** Zero-filled memory of {@code length} bytes; whoever asked must {@link Region#free} it. */
  public Region allocate(MemoryPurpose purpose, long length) {
    return count(Region.allocate(this, purpose, length), purpose);
  }

  /**
   * As {@link #allocate}, with whatever the memory held before: for what is written before it is
   * read. The system gives pages of it only as they are touched.
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

  /** What is mapped for the sake of views alone. */
  LingeringMappings lingering() {
    return lingering;
  }

  /** Bytes held now. */
  public long totalBytes() {
    return total.get();
  }

  /** Bytes held now for one purpose. */
  public long bytes(MemoryPurpose purpose) {
    return bytesByPurpose.get(purpose.ordinal());
  }

  /** The most that was ever held at once. */
  public long peakBytes() {
    return peak.get();
  }

  public Map<MemoryPurpose, Long> bytesByPurpose() {
    Map<MemoryPurpose, Long> bytes = new EnumMap<>(MemoryPurpose.class);
    for (MemoryPurpose purpose : PURPOSES) {
      bytes.put(purpose, bytesByPurpose.get(purpose.ordinal()));
    }
    return bytes;
  }
}
