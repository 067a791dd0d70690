package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.Region;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Where a value that was looked up lies: in a region, or, for one too large to have off-heap
 * scratch space, in a heap array. A mutable holder; what it points to is valid as long as the
 * reader stays inside the epochs and does not read another value. Not thread safe.
 */
public final class StoredValue {
  /** Copying so little takes as long as making a buffer for where it lies. */
  private static final int ALWAYS_COPIED_BYTES_MAX = 256;

  /** The heap may have no room for a copy of more, whatever is kept by views. */
  private static final int COPIED_BYTES_MAX = 1 << 20;

  /** So much may have left memory between its checksum and its copy. */
  private static final int LONG_BYTES = 1 << 16;

  private @Nullable Region region;
  private long offset;
  private int length;
  private byte @Nullable [] heap;

  /** Fields of the record last read; kept here so that reading allocates nothing. */
  final RecordView record = new RecordView();

  public void set(Region valueRegion, long valueOffset, int valueLength) {
    region = valueRegion;
    offset = valueOffset;
    length = valueLength;
    heap = null;
  }

  void set(byte[] value) {
    region = null;
    length = value.length;
    heap = value;
  }

  /** Lets go of a value on the heap: whoever asked for it has it, or nobody wants it any more. */
  public void forget() {
    if (heap != null) {
      heap = null;
    }
  }

  public int length() {
    return length;
  }

  /** A fresh array; or the value's own, which nobody else holds. */
  public byte[] toArray() {
    if (heap != null) {
      return heap;
    }
    byte[] copy = place().getBytes(offset, length);
    if (length >= LONG_BYTES) {
      Region.requirePagesRead();
    }
    return copy;
  }

  /** The region the value lies in, null when it is on the heap. */
  public @Nullable Region region() {
    return region;
  }

  public long offset() {
    return offset;
  }

  /**
   * A read-only view that stays safe however long it is held: of the mapping, or of a copy. A view
   * of a mapping keeps its file until the garbage collector has seen that it is gone: so none is
   * given of short values, nor of any but very long ones while much is kept already, and none at
   * all where a file cannot be deleted as long as it is mapped. See docs/decisions/07.
   */
  public ByteBuffer toView() {
    if (region != null && mayExpose(region)) {
      return region.expose(offset, length);
    }
    return ByteBuffer.wrap(toArray()).asReadOnlyBuffer();
  }

  private boolean mayExpose(Region place) {
    return length > COPIED_BYTES_MAX
        ? place.isExposable()
        : length > ALWAYS_COPIED_BYTES_MAX && place.mayExpose();
  }

  private Region place() {
    if (region == null) {
      throw new IllegalStateException("no value");
    }
    return region;
  }
}
