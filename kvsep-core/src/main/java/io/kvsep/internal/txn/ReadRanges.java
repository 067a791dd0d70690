package io.kvsep.internal.txn;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;

/**
 * What a transaction has read: single stored keys and ranges, ascending and disjoint. Immutable.
 */
public final class ReadRanges {
  static final ReadRanges EVERYTHING =
      new ReadRanges(
          new byte[][] {Keyspaces.storedKey(Keyspaces.DEFAULT, new byte[0])},
          new byte[][] {Keyspaces.end(Keyspaces.ID_MAX)});

  private final byte[][] starts;

  /** First key after each range; for a single key its start, the same array. */
  private final byte[][] ends;

  ReadRanges(byte[][] starts, byte[][] ends) {
    this.starts = starts;
    this.ends = ends;
  }

  public int count() {
    return starts.length;
  }

  public boolean isPoint(int index) {
    return starts[index] == ends[index];
  }

  public byte[] start(int index) {
    return starts[index];
  }

  public byte[] end(int index) {
    return isPoint(index) ? ReadSet.successor(starts[index]) : ends[index];
  }

  /** Index of the first range that contains or follows the key; {@link #count} if none. */
  public int firstBehind(byte[] key) {
    int low = 0;
    int high = starts.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      int order = Arrays.compareUnsigned(ends[middle], key);
      if (isPoint(middle) ? order < 0 : order <= 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** Allocates nothing. */
  public boolean contains(Region key, long offset, int length) {
    int low = 0;
    int high = starts.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (key.compareTo(offset, length, starts[middle]) >= 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) {
      return false;
    }
    int order = key.compareTo(offset, length, ends[low - 1]);
    return isPoint(low - 1) ? order == 0 : order < 0;
  }

  /** Whether anything in [{@code from}, {@code to}) was read. */
  public boolean meets(byte[] from, byte[] to) {
    int low = 0;
    int high = starts.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (Arrays.compareUnsigned(starts[middle], to) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    if (low == 0) {
      return false;
    }
    int order = Arrays.compareUnsigned(ends[low - 1], from);
    return isPoint(low - 1) ? order >= 0 : order > 0;
  }
}
