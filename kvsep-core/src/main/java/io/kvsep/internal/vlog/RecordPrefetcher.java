package io.kvsep.internal.vlog;

import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Records that are about to be read one after the other, touched all at once. Records that lie
 * scattered in memory are waited for one by one otherwise, since a processor looks ahead by some
 * hundred instructions, and checking a record takes more. Figures: docs/decisions/06.
 *
 * <p>Only what is mapped is touched, and nothing is checked: what is wrong with a record is left to
 * whoever reads it. The caller is inside the epochs from {@link #begin} until {@link #touch} has
 * returned. Not thread safe.
 */
public final class RecordPrefetcher {
  /** Most that are touched at once. */
  public static final int RECORDS_MAX = 16;

  /** More would push out of the processor's caches what was touched first. */
  private static final int BYTES_MAX = 128 << 10;

  private final SegmentDirectory directory;
  private final @Nullable Region[] regions = new Region[RECORDS_MAX];
  private final long[] offsets = new long[RECORDS_MAX];
  private final int[] lengths = new int[RECORDS_MAX];
  private final boolean[] apart = new boolean[RECORDS_MAX];

  /** Where the records added last end, those of earlier calls too: one may begin there. */
  private final long[] endSegments = new long[RECORDS_MAX];

  private final long[] ends = new long[RECORDS_MAX];
  private int endCount;
  private int count;
  private int countMax;
  private int bytes;

  RecordPrefetcher(SegmentDirectory directory) {
    this.directory = directory;
  }

  /** Forgets what was added, and takes up to so many records, as far as there is room. */
  public void begin(long records) {
    count = 0;
    countMax = (int) Math.min(records, RECORDS_MAX);
    bytes = 0;
  }

  /**
   * Adds the record that a pointer names, unless it was moved or is not mapped. Only while there is
   * room.
   *
   * @return whether there is room for more
   */
  public boolean add(Region pointer, long pointerOffset) {
    long segmentId = ValuePointer.segment(pointer, pointerOffset);
    Segment segment = directory.find(segmentId);
    Region mapped = segment == null ? null : segment.mappedSoFar();
    if (mapped != null) {
      long offset = ValuePointer.offset(pointer, pointerOffset);
      int recordLength = ValuePointer.recordLength(pointer, pointerOffset);
      int length = Math.min(recordLength, BYTES_MAX - bytes);
      if (offset >= 0 && length > 0 && length <= mapped.length() - offset) {
        regions[count] = mapped;
        offsets[count] = offset;
        lengths[count] = length;
        // Behind what was read the processor reads ahead by itself.
        apart[count] =
            length >= Region.APART_BYTES_MIN && !follows(segmentId, offset, recordLength);
        count++;
        bytes += length;
      }
    }
    return count < countMax && bytes < BYTES_MAX;
  }

  /** Touches all records added. */
  public void touch() {
    if (count == 0) {
      return;
    }
    // Of pages that were read before this, whoever read them has to hear.
    Region.requirePagesRead();
    try {
      for (int i = 0; i < count; i++) {
        Region region = regions[i];
        if (region != null) {
          if (apart[i]) {
            region.touchApart(offsets[i], lengths[i]);
          } else {
            region.touch(offsets[i], lengths[i]);
          }
        }
      }
      Region.requirePagesRead();
    } catch (InternalError e) {
      // Whoever reads the record finds the page that cannot be read, if anybody ever does.
    }
  }

  /** Whether a record begins where one of the last ones ended; remembers where this one does. */
  private boolean follows(long segmentId, long offset, int recordLength) {
    int place = RECORDS_MAX - 1;
    while (place >= 0 && (ends[place] != offset || endSegments[place] != segmentId)) {
      place--;
    }
    boolean found = place >= 0;
    if (!found) {
      place = endCount++ & (RECORDS_MAX - 1);
    }
    endSegments[place] = segmentId;
    ends[place] = offset + recordLength;
    return found;
  }
}
