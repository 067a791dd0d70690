package io.kvsep.server.redis;

import java.security.SecureRandom;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Where scans go on: a cursor is a random number, and here is the key that stands behind it. See
 * the decision record 14 of the documentation.
 *
 * <p>An iteration keeps two of them, the one its client has and the one before, which a client may
 * repeat that did not get the reply. Together they take no more than some megabytes: the ones used
 * least recently go, and a scan that comes back later than that is told so. Thread safe.
 */
final class ScanCursors {
  private static final long BYTES_MAX = 16 << 20;

  /** Some clients carry a cursor as a signed number of 64 bits, others as a double. */
  private static final int BITS = 53;

  /** About what one costs beside its key. */
  private static final int OVERHEAD_BYTES = 200;

  /**
   * Where an iteration goes on.
   *
   * @param key the first that was not looked at
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

  /** Where a cursor stands, null when it is not known or no longer. */
  synchronized @Nullable Place find(long cursor) {
    Place place = places.get(cursor);
    if (place != null) {
      // Whoever comes with this one has got it, and does not need the one before.
      remove(place.before());
    }
    return place;
  }

  /** A cursor for a place; never 0. */
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
