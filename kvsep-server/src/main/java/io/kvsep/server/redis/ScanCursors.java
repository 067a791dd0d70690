package io.kvsep.server.redis;

import java.security.SecureRandom;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Positions of scans: a cursor is a random number that maps to the next key. See decision record 14
 * of the documentation.
 *
 * <p>An iteration keeps two cursors: the client's current one and the one before, which a client
 * repeats if it did not get the reply. All together take at most some megabytes: the least recently
 * used ones are dropped, and a scan that returns with a dropped cursor gets an error. Thread safe.
 */
final class ScanCursors {
  private static final long BYTES_MAX = 16 << 20;

  /** Some clients hold a cursor as a signed 64-bit number, others as a double. */
  private static final int BITS = 53;

  /** Approximate heap bytes of a cursor in addition to its key. */
  private static final int OVERHEAD_BYTES = 200;

  /**
   * Position of an iteration.
   *
   * @param key the first one not scanned yet
   * @param before the cursor that led here, 0 for the beginning
   */
  record Place(int database, byte[] key, long before) {}

  private final SecureRandom random = new SecureRandom();
  private final long bytesMax;
  private final Map<Long, Place> places = new LinkedHashMap<>(64, 0.75f, true);
  private long bytes;

  ScanCursors() {
    this(BYTES_MAX);
  }

  ScanCursors(long bytesMax) {
    this.bytesMax = bytesMax;
  }

  /** Returns the position of a cursor, null if it is unknown or dropped. */
  synchronized @Nullable Place find(long cursor) {
    Place place = places.get(cursor);
    if (place != null) {
      // A client that sends this cursor has received it, and no longer needs the one before.
      remove(place.before());
    }
    return place;
  }

  /** Returns a new cursor for a position; never 0. */
  synchronized long add(Place place) {
    long cursor;
    do {
      cursor = random.nextLong() >>> (Long.SIZE - BITS);
    } while (cursor == 0 || places.containsKey(cursor));
    places.put(cursor, place);
    bytes += cost(place);
    Iterator<Map.Entry<Long, Place>> oldest = places.entrySet().iterator();
    while (bytes > bytesMax && places.size() > 1) {
      bytes -= cost(oldest.next().getValue());
      oldest.remove();
    }
    return cursor;
  }

  synchronized int size() {
    return places.size();
  }

  private void remove(long cursor) {
    Place place = places.remove(cursor);
    if (place != null) {
      bytes -= cost(place);
    }
  }

  private static long cost(Place place) {
    return OVERHEAD_BYTES + (long) place.key().length;
  }
}
