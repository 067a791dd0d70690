package io.kvsep.cluster;

import com.google.errorprone.annotations.concurrent.GuardedBy;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The sequence numbers at which entries of the Raft log end in the log of the store: all for the
 * newest commits, ever fewer for older ones. In memory only, so empty after a start. Thread safe.
 */
final class EntryPlaces {
  private static final int PLACES_MAX = 1024;

  @GuardedBy("this")
  private final TreeMap<Long, Long> sequences = new TreeMap<>();

  /**
   * Notes that the writes up to an entry, and no others, have sequence numbers up to this one.
   *
   * @param index of the entry, above that of the last call
   */
  synchronized void add(long index, long sequence) {
    sequences.put(index, sequence);
    if (sequences.size() > PLACES_MAX) {
      Iterator<Long> oldest = sequences.keySet().iterator();
      for (int i = 0; i < PLACES_MAX / 2; i++) {
        oldest.next();
        if (i % 2 == 1) {
          oldest.remove();
        }
      }
    }
  }

  /** The last known entry at or before this one: its index and its sequence number. */
  synchronized Map.@Nullable Entry<Long, Long> upTo(long index) {
    return sequences.floorEntry(index);
  }
}
