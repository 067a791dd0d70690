package io.kvsep.internal.vlog;

import io.kvsep.error.KvException;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.ColdReadPolicy;
import io.kvsep.internal.memory.Region;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Rewrites pointers that name segments which were rewritten, so that they name the relocated file
 * and the place in it where the record is now: whoever follows one then needs no relocation, and
 * the old name is forgotten once nobody uses it.
 *
 * <p>The files stay in force as long as this is used. Not thread safe.
 */
public final class BlobFilePointers {
  private final SegmentIds names;
  private final ColdReadPolicy cold;

  /** Where each one's records are; null for a file in which nothing can be looked up. */
  private final @Nullable Segment[] homes;

  /**
   * @param homes the relocated files, by the segments whose records are looked up in them
   * @param cold whether pages are loaded before they are touched
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
   * Writes where the record is now.
   *
   * @return bytes written at {@code targetOffset}, at most {@link ValuePointer#BYTES_MAX}; 0 when
   *     the pointer is as good as it gets. That includes one whose new file is damaged: whoever
   *     reads the value says so.
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
    // What could not be read of the pointer is not passed over as a part of its home.
    Region.requirePagesRead();
    try {
      return home.find(names.id(index), ValuePointer.offset(pointer, pointerOffset), cold);
    } catch (KvException | InternalError e) {
      homes[index] = null;
      return -1;
    }
  }
}
