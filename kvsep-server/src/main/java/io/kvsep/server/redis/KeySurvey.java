package io.kvsep.server.redis;

import io.kvsep.KvCursor;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/**
 * Result of a scan over all keys of a database: how many there are, how many expire, and keys at
 * equal distances from which a random key can be found. Immutable.
 */
final class KeySurvey {
  /** Limits of the kept keys: a random key is searched from the kept key before it. */
  private static final int MARKS_MAX = 4096;

  private static final long MARK_BYTES_MAX = 1 << 20;

  private final List<byte[]> marks;

  /** Number of keys from one kept key to the next. */
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

  /** Scales the proportions to a larger number of keys. The result has no keys to draw from. */
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

  /** Mean over the keys that expire. */
  long meanMillisToLive() {
    return expiring == 0 ? 0 : (long) (millisToLive / expiring);
  }

  /**
   * Draws a key that the cursor shows, null if there is none. All keys are equally likely if none
   * was written or removed since the survey.
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
