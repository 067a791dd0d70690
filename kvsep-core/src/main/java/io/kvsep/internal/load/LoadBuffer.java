package io.kvsep.internal.load;

import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;

/**
 * Entries of a bulk load in memory, iterated in key order. Of equal keys the last one added wins.
 * The memory has a fixed length, unless a single entry needs more.
 *
 * <pre>
 * memory := entry* free place*                  an entry begins at a multiple of 8
 *
 * entry                                         place, 16 bytes, the first at the very end
 * offset bytes field                            offset bytes field
 *      0     4 length of the key                     0     8 key prefix, as a number
 *      4     4 length of the payload                 8     8 offset of the entry
 *      8     8 kind
 *     16     … key, payload
 * </pre>
 *
 * As much space before the places is kept free for a merge sort of them, with about n log2(n)
 * comparisons of numbers for n entries in any order. Entries do not move. Not thread safe.
 */
final class LoadBuffer implements AutoCloseable {
  /** Maximum space of an entry in addition to key and payload. */
  static final int ENTRY_OVERHEAD = 16 + 7 + 32;

  private static final int HEADER_BYTES = 16;
  private static final int PLACE_BYTES = 16;
  private static final int SORTED_RUN = 16;

  /** Number of entries prefetched together, and bytes of each. */
  private static final int TOUCHED_ENTRIES = 16;

  private static final int TOUCHED_BYTES = 256;

  private final MemoryLedger ledger;
  private Region region;
  private long end;
  private int count;
  private boolean ordered;

  /** Index and offset of the current entry. */
  private int position;

  private long current;

  // Start of the places and of their free target space while sorting.
  private long from;
  private long to;

  LoadBuffer(MemoryLedger ledger, long bytes) {
    this.ledger = ledger;
    this.region = ledger.allocateUncleared(MemoryPurpose.BULK_LOAD, bytes & -8);
    this.ordered = true;
    this.position = -1;
  }

  void clear() {
    end = 0;
    count = 0;
    position = -1;
    ordered = true;
  }

  boolean isEmpty() {
    return count == 0;
  }

  boolean hasRoom(int keyLength, int payloadLength) {
    long free = region.length() - end - 2L * PLACE_BYTES * count;
    return (long) keyLength + payloadLength + ENTRY_OVERHEAD <= free;
  }

  /** Ensures that such an entry fits into the empty buffer. */
  void grow(int keyLength, int payloadLength) {
    long needed = ((long) keyLength + payloadLength + ENTRY_OVERHEAD + 7) & -8;
    if (needed > region.length()) {
      region.free();
      region = ledger.allocateUncleared(MemoryPurpose.BULK_LOAD, needed);
    }
  }

  Region region() {
    return region;
  }

  /** The caller writes key and payload of a new entry here before {@link #add}. */
  long newKeyOffset() {
    return end + HEADER_BYTES;
  }

  /** Adds the entry whose key and payload have been written. */
  void add(int kind, int keyLength, int payloadLength) {
    long entry = end;
    region.putInt(entry, keyLength);
    region.putInt(entry + 4, payloadLength);
    region.putLong(entry + 8, kind);
    if (count > 0 && ordered) {
      long before = entryOf(placesStart() - (long) PLACE_BYTES * (count - 1));
      ordered = compareKeys(before, entry) < 0;
    }
    region.putLong(placesStart() - (long) PLACE_BYTES * count + 8, entry);
    count++;
    end = (entry + HEADER_BYTES + keyLength + payloadLength + 7) & -8;
  }

  /** Sorts and positions before the first entry; nothing may be added until cleared. */
  void sort() {
    position = -1;
    from = placesStart() + PLACE_BYTES - (long) PLACE_BYTES * count;
    to = from - (long) PLACE_BYTES * count;
    if (ordered) {
      turnRound();
    } else {
      putPrefixes();
      turnRound();
      mergeSort();
    }
  }

  void rewind() {
    position = -1;
  }

  /** Moves to the next key; returns false after the last one. */
  boolean next() {
    while (++position < count) {
      if (!ordered && position % TOUCHED_ENTRIES == 0) {
        touchNext();
      }
      long place = from + (long) PLACE_BYTES * position;
      current = entryOf(place);
      if (ordered || position + 1 == count || !isSameKey(place, place + PLACE_BYTES)) {
        return true;
      }
    }
    return false;
  }

  /**
   * The next entries are scattered in memory: touched together, they take about as long as one
   * cache miss.
   */
  private void touchNext() {
    int limit = Math.min(count, position + TOUCHED_ENTRIES);
    for (int i = position; i < limit; i++) {
      long entry = entryOf(from + (long) PLACE_BYTES * i);
      region.touch(entry, (int) Math.min(TOUCHED_BYTES, end - entry));
    }
  }

  int kind() {
    return (int) region.getLong(current + 8);
  }

  long keyOffset() {
    return current + HEADER_BYTES;
  }

  int keyLength() {
    return keyLength(current);
  }

  long payloadOffset() {
    return current + HEADER_BYTES + keyLength(current);
  }

  int payloadLength() {
    return payloadLength(current);
  }

  @Override
  public void close() {
    region.free();
  }

  private long placesStart() {
    return region.length() - PLACE_BYTES;
  }

  private long entryOf(long place) {
    return region.getLong(place + 8);
  }

  private int keyLength(long entry) {
    return region.getInt(entry);
  }

  private int payloadLength(long entry) {
    return region.getInt(entry + 4);
  }

  private int compareKeys(long a, long b) {
    return Region.compare(
        region, a + HEADER_BYTES, keyLength(a), region, b + HEADER_BYTES, keyLength(b));
  }

  /** Reverses the places, which are in order of adding from the end of memory. */
  private void turnRound() {
    long low = from;
    long high = placesStart();
    while (low < high) {
      long prefix = region.getLong(low);
      long entry = region.getLong(low + 8);
      move(low, high);
      region.putLong(high, prefix);
      region.putLong(high + 8, entry);
      low += PLACE_BYTES;
      high -= PLACE_BYTES;
    }
  }

  /** The first bytes after the common prefix of all keys decide nearly every comparison. */
  private void putPrefixes() {
    long first = entryOf(placesStart());
    int common = keyLength(first);
    for (long place = from; place < region.length(); place += PLACE_BYTES) {
      long entry = entryOf(place);
      common =
          Math.min(
              common,
              Region.commonPrefix(
                  region,
                  first + HEADER_BYTES,
                  common,
                  region,
                  entry + HEADER_BYTES,
                  keyLength(entry)));
    }
    for (long place = from; place < region.length(); place += PLACE_BYTES) {
      long entry = entryOf(place);
      long prefix = region.keyPrefix(entry + HEADER_BYTES + common, keyLength(entry) - common);
      region.putLong(place, prefix);
    }
  }

  /** Stable, so that of equal keys the entry added last comes last. */
  private void mergeSort() {
    for (int start = 0; start < count; start += SORTED_RUN) {
      insertionSort(start, Math.min(count, start + SORTED_RUN));
    }
    for (long width = SORTED_RUN; width < count; width *= 2) {
      for (long start = 0; start < count; start += 2 * width) {
        merge(start, Math.min(count, start + width), Math.min(count, start + 2 * width));
      }
      long other = from;
      from = to;
      to = other;
    }
  }

  private void insertionSort(int start, int limit) {
    for (int i = start + 1; i < limit; i++) {
      long prefix = region.getLong(from + (long) PLACE_BYTES * i);
      long entry = entryOf(from + (long) PLACE_BYTES * i);
      long at = from + (long) PLACE_BYTES * i;
      long least = from + (long) PLACE_BYTES * start;
      while (at > least && compare(at - PLACE_BYTES, prefix, entry) > 0) {
        move(at, at - PLACE_BYTES);
        at -= PLACE_BYTES;
      }
      region.putLong(at, prefix);
      region.putLong(at + 8, entry);
    }
  }

  private void merge(long start, long middle, long limit) {
    long left = from + PLACE_BYTES * start;
    long leftEnd = from + PLACE_BYTES * middle;
    long right = leftEnd;
    long rightEnd = from + PLACE_BYTES * limit;
    long target = to + PLACE_BYTES * start;
    while (left < leftEnd && right < rightEnd) {
      if (compare(left, region.getLong(right), entryOf(right)) <= 0) {
        move(target, left);
        left += PLACE_BYTES;
      } else {
        move(target, right);
        right += PLACE_BYTES;
      }
      target += PLACE_BYTES;
    }
    region.put(target, region, left, leftEnd - left);
    target += leftEnd - left;
    region.put(target, region, right, rightEnd - right);
  }

  private boolean isSameKey(long place, long other) {
    return region.getLong(place) == region.getLong(other)
        && compareKeys(entryOf(place), entryOf(other)) == 0;
  }

  private void move(long target, long source) {
    region.putLong(target, region.getLong(source));
    region.putLong(target + 8, region.getLong(source + 8));
  }

  private int compare(long place, long prefix, long entry) {
    int order = Long.compareUnsigned(region.getLong(place), prefix);
    return order != 0 ? order : compareKeys(entryOf(place), entry);
  }
}
