package io.kvsep.internal.vlog;

import io.kvsep.error.KvException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Region;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Replaces pointers to rewritten segments by pointers into the blob files, so that reads skip the
 * relocation lookup and unused relocations can be dropped.
 *
 * <p>The files must stay listed during use. Not thread safe.
 */
public final class BlobFilePointers {
  private final SegmentIds names;
  private final ColdReadPolicy cold;

  /** Blob file of each segment; null after a failed lookup in it. */
  private final @Nullable Segment[] homes;

  /**
   * @param homes blob files by the segments whose records they contain
   */
  public BlobFilePointers(Map<Long, Segment> homes, ColdReadPolicy cold) {
    this.cold = cold;
    this.names = new SegmentIds(homes.keySet());
    this.homes = new Segment[names.count()];
    for (int i = 0; i < this.homes.length; i++) {
      this.homes[i] = homes.get(names.id(i));
    }
  }

  /**
   * Rewrites a pointer to where its value is now.
   *
   * @return bytes written at {@code targetOffset}, at most {@link ValuePointer#BYTES_MAX}; 0 if the
   *     pointer needs no change, or its blob file is damaged, which a read of the value reports
   */
  public int refresh(Region pointer, long pointerOffset, Region target, long targetOffset) {
    int index = names.indexOf(ValuePointer.segment(pointer, pointerOffset));
    if (index < 0) {
      return 0;
    }
    Segment home = homes[index];
    long offset = home == null ? -1 : find(index, home, pointer, pointerOffset);
    if (home == null || offset < 0) {
      return 0;
    }
    long end =
        ValuePointer.put(
            target,
            targetOffset,
            home.id(),
            offset,
            ValuePointer.recordLength(pointer, pointerOffset),
            ValuePointer.valueLength(pointer, pointerOffset));
    return (int) (end - targetOffset);
  }

  private long find(int index, Segment home, Region pointer, long pointerOffset) {
    // A fault of the pointer's page must not be blamed on the blob file.
    Region.requirePagesRead();
    try {
      return home.find(names.id(index), ValuePointer.offset(pointer, pointerOffset), cold);
    } catch (KvException | InternalError e) {
      homes[index] = null;
      return -1;
    }
  }
}
