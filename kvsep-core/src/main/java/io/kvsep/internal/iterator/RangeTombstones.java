package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Deleted ranges of stored keys as fragments: disjoint, ascending, each with the sequence numbers
 * of all deletes that cover it, newest first (as in Pebble and RocksDB). A lookup is one binary
 * search for the fragment and one within it.
 *
 * <p>Immutable, on the heap; callers must not modify returned arrays. Lookups do not allocate.
 */
public final class RangeTombstones {
  public static final RangeTombstones NONE =
      new RangeTombstones(new byte[0][], new byte[0][], new long[0][]);

  /** Stands for no delete; no commit has this number. */
  public static final long NOTHING = 0;

  /** Array headers and references. */
  private static final int FRAGMENT_OVERHEAD_BYTES = 80;

  private static final long[] UNCOVERED = {};

  private final byte[][] starts;
  private final byte[][] ends;
  private final long[][] sequences;

  private RangeTombstones(byte[][] starts, byte[][] ends, long[][] sequences) {
    this.starts = starts;
    this.ends = ends;
    this.sequences = sequences;
  }

  /** One delete of the nonempty range [{@code from}, {@code to}). Keeps the arrays. */
  public static RangeTombstones of(byte[] from, byte[] to, long sequence) {
    return new RangeTombstones(
        new byte[][] {from}, new byte[][] {to}, new long[][] {new long[] {sequence}});
  }

  public int count() {
    return starts.length;
  }

  public boolean isEmpty() {
    return starts.length == 0;
  }

  public byte[] start(int fragment) {
    return starts[fragment];
  }

  /** First stored key after a fragment. */
  public byte[] end(int fragment) {
    return ends[fragment];
  }

  /** The deletes that cover a fragment, newest first; never empty. */
  public long[] sequences(int fragment) {
    return sequences[fragment];
  }

  /** The last fragment that starts at or before the key; -1 if none does. */
  public int floor(Region key, long offset, int length) {
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
    return low - 1;
  }

  /** The newest delete at or below {@code sequence} that covers a fragment, or {@link #NOTHING}. */
  public long newest(int fragment, long sequence) {
    long[] newestFirst = sequences[fragment];
    int index = countAbove(newestFirst, sequence);
    return index == newestFirst.length ? NOTHING : newestFirst[index];
  }

  /** The oldest delete above {@code sequence} that covers a fragment, or {@link #NOTHING}. */
  public long oldestAbove(int fragment, long sequence) {
    long[] newestFirst = sequences[fragment];
    int count = countAbove(newestFirst, sequence);
    return count == 0 ? NOTHING : newestFirst[count - 1];
  }

  /** Binary search, because a range deleted repeatedly has very many. */
  private static int countAbove(long[] newestFirst, long sequence) {
    int low = 0;
    int high = newestFirst.length;
    while (low < high) {
      int middle = (low + high) >>> 1;
      if (newestFirst[middle] > sequence) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  /** The newest delete at or below {@code sequence} that covers the key, or {@link #NOTHING}. */
  public long covering(Region key, long offset, int length, long sequence) {
    int fragment = floor(key, offset, length);
    if (fragment < 0 || key.compareTo(offset, length, ends[fragment]) >= 0) {
      return NOTHING;
    }
    return newest(fragment, sequence);
  }

  /** These fragments, and the older ones in their gaps. O(n) in both. */
  public RangeTombstones over(RangeTombstones older) {
    if (older.isEmpty() || isEmpty()) {
      return isEmpty() ? older : this;
    }
    Overlay both = new Overlay(2 * starts.length + older.starts.length);
    byte[] behind = older.starts[0];
    int newer = 0;
    for (int i = 0; i < older.starts.length; i++) {
      byte[] from = max(behind, older.starts[i]);
      byte[] to = older.ends[i];
      while (newer < starts.length && Arrays.compareUnsigned(starts[newer], to) < 0) {
        both.add(from, starts[newer], older.sequences[i]);
        both.add(starts[newer], ends[newer], sequences[newer]);
        from = max(from, ends[newer]);
        newer++;
      }
      both.add(from, to, older.sequences[i]);
      behind = max(behind, from);
    }
    for (; newer < starts.length; newer++) {
      both.add(starts[newer], ends[newer], sequences[newer]);
    }
    return both.build();
  }

  /** Takes fragments in order; skips empty ones. */
  private static final class Overlay {
    private final byte[][] starts;
    private final byte[][] ends;
    private final long[][] sequences;
    private int count;

    Overlay(int countMax) {
      this.starts = new byte[countMax][];
      this.ends = new byte[countMax][];
      this.sequences = new long[countMax][];
    }

    void add(byte[] from, byte[] to, long[] newestFirst) {
      if (Arrays.compareUnsigned(from, to) < 0) {
        starts[count] = from;
        ends[count] = to;
        sequences[count] = newestFirst;
        count++;
      }
    }

    RangeTombstones build() {
      return new RangeTombstones(
          Arrays.copyOf(starts, count),
          Arrays.copyOf(ends, count),
          Arrays.copyOf(sequences, count));
    }
  }

  /** The parts within [{@code from}, {@code to}); null for an open end. */
  public RangeTombstones clip(byte @Nullable [] from, byte @Nullable [] to) {
    Builder clipped = new Builder();
    for (int i = 0; i < starts.length; i++) {
      byte[] start = from == null ? starts[i] : max(from, starts[i]);
      byte[] end = to == null ? ends[i] : min(to, ends[i]);
      clipped.add(start, end, sequences[i]);
    }
    return clipped.build();
  }

  /** Estimated heap. */
  public long bytes(int fragment) {
    return FRAGMENT_OVERHEAD_BYTES
        + starts[fragment].length
        + ends[fragment].length
        + 8L * sequences[fragment].length;
  }

  public long bytes() {
    long bytes = 0;
    for (int i = 0; i < starts.length; i++) {
      bytes += bytes(i);
    }
    return bytes;
  }

  /** Merges ranges that may overlap. Not thread safe. */
  public static final class Builder {
    /** The deletes from each boundary up to the next. */
    private final TreeMap<byte[], long[]> fromBoundary = new TreeMap<>(Arrays::compareUnsigned);

    public Builder add(RangeTombstones all) {
      for (int i = 0; i < all.starts.length; i++) {
        add(all.starts[i], all.ends[i], all.sequences[i]);
      }
      return this;
    }

    /**
     * Adds deletes of [{@code from}, {@code to}), which may be empty. Keeps the arrays.
     *
     * @param newestFirst descending, without duplicates
     */
    public Builder add(byte[] from, byte[] to, long... newestFirst) {
      if (Arrays.compareUnsigned(from, to) >= 0 || newestFirst.length == 0) {
        return this;
      }
      split(from);
      split(to);
      for (Map.Entry<byte[], long[]> part : fromBoundary.subMap(from, to).entrySet()) {
        part.setValue(union(part.getValue(), newestFirst));
      }
      return this;
    }

    /** Merges neighbours with the same deletes. */
    public RangeTombstones build() {
      List<byte[]> starts = new ArrayList<>(fromBoundary.size());
      List<byte[]> ends = new ArrayList<>(fromBoundary.size());
      List<long[]> sequences = new ArrayList<>(fromBoundary.size());
      long[] open = UNCOVERED;
      for (Map.Entry<byte[], long[]> part : fromBoundary.entrySet()) {
        if (Arrays.equals(open, part.getValue())) {
          continue;
        }
        if (open.length > 0) {
          ends.add(part.getKey());
        }
        open = part.getValue();
        if (open.length > 0) {
          starts.add(part.getKey());
          sequences.add(open);
        }
      }
      if (starts.isEmpty()) {
        return NONE;
      }
      return new RangeTombstones(
          starts.toArray(new byte[0][]),
          ends.toArray(new byte[0][]),
          sequences.toArray(new long[0][]));
    }

    private void split(byte[] key) {
      if (!fromBoundary.containsKey(key)) {
        Map.Entry<byte[], long[]> before = fromBoundary.lowerEntry(key);
        fromBoundary.put(key, before == null ? UNCOVERED : before.getValue());
      }
    }

    private static long[] union(long[] a, long[] b) {
      if (a.length == 0) {
        return b;
      }
      long[] merged = new long[a.length + b.length];
      int count = 0;
      int i = 0;
      int j = 0;
      while (i < a.length || j < b.length) {
        long next = j == b.length || (i < a.length && a[i] >= b[j]) ? a[i] : b[j];
        i += i < a.length && a[i] == next ? 1 : 0;
        j += j < b.length && b[j] == next ? 1 : 0;
        merged[count++] = next;
      }
      return count == merged.length ? merged : Arrays.copyOf(merged, count);
    }
  }

  private static byte[] min(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b) <= 0 ? a : b;
  }

  private static byte[] max(byte[] a, byte[] b) {
    return Arrays.compareUnsigned(a, b) >= 0 ? a : b;
  }
}
