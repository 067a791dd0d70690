package io.kvsep.internal.vlog;

import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Touches records that are about to be read, so that their cache misses overlap: a processor looks
 * some hundred instructions ahead, and checking one record takes more. Figures: docs/decisions/06.
 *
 * <p>Touches only mapped records and checks nothing; readers report errors. The caller is inside an
 * epoch from {@link #begin} until {@link #touch} returns. Not thread safe.
 */
public final class RecordPrefetcher {
  public static final int RECORDS_MAX = 16;

  /** More would evict the first ones from the processor caches. */
  private static final int BYTES_MAX = 128 << 10;

  private final SegmentDirectory directory;
  private final @Nullable Region[] regions = new Region[RECORDS_MAX];
  private final long[] offsets = new long[RECORDS_MAX];
  private final int[] lengths = new int[RECORDS_MAX];
  private final ValuePointer target = new ValuePointer();
  private int count;
  private int countMax;
  private int bytes;

  RecordPrefetcher(SegmentDirectory directory) {
    this.directory = directory;
  }

  public void begin(long records) {
    count = 0;
    countMax = (int) Math.min(records, RECORDS_MAX);
    bytes = 0;
  }

  /**
   * Adds the record that a pointer names, unless it is relocated or not mapped. The list must not
   * be full.
   *
   * @return whether more fit
   */
  public boolean add(Region pointer, long pointerOffset) {
    target.decode(pointer, pointerOffset);
    Segment segment = directory.find(target.segment);
    Region mapped = segment == null ? null : segment.mappedSoFar();
    if (mapped != null) {
      long offset = target.offset;
      int length = Math.min(target.recordLength, BYTES_MAX - bytes);
      if (offset >= 0 && length > 0 && length <= mapped.length() - offset) {
        regions[count] = mapped;
        offsets[count] = offset;
        lengths[count] = length;
        count++;
        bytes += length;
      }
    }
    return count < countMax && bytes < BYTES_MAX;
  }

  public void touch() {
    if (count == 0) {
      return;
    }
    // Faults of earlier reads belong to their reader.
    Region.requirePagesRead();
    try {
      for (int i = 0; i < count; i++) {
        Region region = regions[i];
        if (region != null) {
          region.touchApart(offsets[i], lengths[i]);
        }
      }
      Region.requirePagesRead();
    } catch (InternalError e) {
      // The reader of the record gets the fault.
    }
  }
}
