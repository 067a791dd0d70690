package io.kvsep.internal.vlog;

import io.kvsep.internal.memory.Region;
import java.nio.BufferOverflowException;
import java.nio.ByteBuffer;
import org.jspecify.annotations.Nullable;

/**
 * Location of a value: in a region, or in a heap array if it is too large for scratch space.
 * Mutable. Valid while the reader stays inside the epoch and reads no other value. Not thread safe.
 */
public final class StoredValue {
  /** Copying fewer bytes costs no more than creating a buffer over the mapping. */
  private static final int ALWAYS_COPIED_BYTES_MAX = 256;

  /** A longer copy may not fit on the heap, so a view is made even if many are pinned. */
  private static final int COPIED_BYTES_MAX = 1 << 20;

  /** A longer value may be paged out between checksum and copy. */
  private static final int LONG_BYTES = 1 << 16;

  private @Nullable Region region;
  private long offset;
  private int length;
  private byte @Nullable [] heap;

  /** Kept so that reads allocate nothing. */
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

  public void forget() {
    if (heap != null) {
      heap = null;
    }
  }

  public int length() {
    return length;
  }

  /** Returns a new array, or the array of the value, which has no other owner. */
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

  /**
   * Puts the value at the position of {@code target}; allocates nothing.
   *
   * @throws BufferOverflowException if there is no room
   */
  public void copyTo(ByteBuffer target, ValueReader.Scratch scratch) {
    if (length > target.remaining()) {
      throw new BufferOverflowException();
    }
    if (heap != null) {
      target.put(heap);
      return;
    }
    Region source = place();
    if (target.hasArray()) {
      int position = target.position();
      source.get(offset, target.array(), target.arrayOffset() + position, length);
      target.position(position + length);
    } else {
      target.put(scratch.window.over(source, offset, length));
    }
    if (length >= LONG_BYTES) {
      scratch.window.requireReadable(source, offset, length);
    }
  }

  public @Nullable Region region() {
    return region;
  }

  public long offset() {
    return offset;
  }

  /**
   * Returns a read-only view of the mapping or of a copy; it never becomes invalid. A view of a
   * mapping pins the file until the view is garbage-collected. So short values are copied, those up
   * to 1 MiB also while much is pinned, and all where a mapped file cannot be deleted. See
   * docs/decisions/07.
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
