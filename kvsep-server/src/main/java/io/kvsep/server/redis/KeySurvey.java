package io.kvsep.server.redis;

import io.kvsep.KvCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * What there was in a database when all its keys were gone over: how many, how many of them expire,
 * and keys at even distances, between which any other can be drawn. Immutable.
 */
final class KeySurvey {
  /** Keys that are kept: a drawn one is found from the one before it. */
  private static final int MARKS_MAX = 4096;

  private static final long MARK_BYTES_MAX = 1 << 20;

  private final List<byte[]> marks;

  /** From one of the keys that are kept to the next. */
  private final long distance;

  private final long keys;
  private final long expiring;
  private final double millisToLive;

  private KeySurvey(
      List<byte[]> marks, long distance, long keys, long expiring, double millisToLive) {
    this.marks = marks;
    this.distance = distance;
    this.keys = keys;
    this.expiring = expiring;
    this.millisToLive = millisToLive;
  }

  /** Goes over all keys that the cursor shows. */
  static KeySurvey of(KvCursor cursor, long nowMillis) {
    List<byte[]> marks = new ArrayList<>();
    long markBytes = 0;
    long distance = 1;
    long keys = 0;
    long expiring = 0;
    double millisToLive = 0;
    while (cursor.next()) {
      if (keys % distance == 0) {
        marks.add(cursor.key());
        markBytes += marks.get(marks.size() - 1).length;
        if (marks.size() == MARKS_MAX || (markBytes > MARK_BYTES_MAX && marks.size() > 1)) {
          marks = everyOther(marks);
          markBytes = marks.stream().mapToLong(mark -> mark.length).sum();
          distance *= 2;
        }
      }
      OptionalLong end = cursor.expiresAtMillis();
      if (end.isPresent()) {
        expiring++;
        millisToLive += Math.max(0, end.getAsLong() - nowMillis);
      }
      keys++;
    }
    return new KeySurvey(marks, distance, keys, expiring, millisToLive);
  }

  private static List<byte[]> everyOther(List<byte[]> marks) {
    List<byte[]> kept = new ArrayList<>();
    for (int i = 0; i < marks.size(); i += 2) {
      kept.add(marks.get(i));
    }
    return kept;
  }

  /** The same shares for a larger number of keys. It has no keys to draw from. */
  KeySurvey scaledTo(long all) {
    double times = (double) all / keys;
    return new KeySurvey(List.of(), 1, all, Math.round(times * expiring), times * millisToLive);
  }

  long keys() {
    return keys;
  }

  long expiring() {
    return expiring;
  }

  /** Of those that expire. */
  long meanMillisToLive() {
    return expiring == 0 ? 0 : (long) (millisToLive / expiring);
  }

  /**
   * A key that the cursor shows, each as likely as another where none was written or removed since;
   * null when there is none.
   */
  byte @Nullable [] draw(KvCursor cursor, RandomGenerator random) {
    if (keys == 0) {
      return null;
    }
    long place = random.nextLong(keys);
    boolean found = cursor.seek(marks.get((int) (place / distance)));
    for (long i = place % distance; found && i > 0; i--) {
      found = cursor.next();
    }
    return found || cursor.previous() ? cursor.key() : null;
  }
}
