package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.testing.Seeds;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

final class TrackingCursorTest {
  private static final List<String> KEYS = List.of("a", "b", "b0", "c", "d", "e", "f");

  /** A key whose change alters what a cursor saw is in the range that the cursor covers. */
  @Test
  void whatACursorSawDependsOnItsRangeAlone() {
    Seeds.some(TrackingCursorTest.class, 20_000, 100, TrackingCursorTest::run);
  }

  private static void run(Random random) {
    long seed = random.nextLong();
    try (KvStore store = KvStore.inMemory()) {
      for (String key : KEYS) {
        if (random.nextBoolean()) {
          store.put(bytes(key), bytes("1"));
        }
      }
      List<String> seen = new ArrayList<>();
      Recorder.Range range = move(store, new Random(seed), seen);
      for (String key : KEYS) {
        byte[] before = store.get(bytes(key));
        if (before == null) {
          store.put(bytes(key), bytes("1"));
        } else {
          store.delete(bytes(key));
        }
        List<String> now = new ArrayList<>();
        move(store, new Random(seed), now);
        if (!now.equals(seen)) {
          assertTrue(
              range != null && range.covers(null, bytes(key)),
              () -> key + " changes " + seen + " to " + now + ", covered: " + text(range));
        }
        if (before == null) {
          store.delete(bytes(key));
        } else {
          store.put(bytes(key), before);
        }
      }
      List<String> again = new ArrayList<>();
      move(store, new Random(seed), again);
      assertEquals(seen, again);
    }
  }

  /** The same moves for the same seed. */
  private static Recorder.@Nullable Range move(KvStore store, Random random, List<String> seen) {
    ScanOptions options = ScanOptions.range(bound(random), bound(random));
    int limit = random.nextInt(3) == 0 ? 1 + random.nextInt(3) : 0;
    seen.add(text(options.from()) + " to " + text(options.to()) + ", at most " + limit);
    if (random.nextBoolean()) {
      options = options.reverse();
      seen.add("reverse");
    }
    if (limit > 0) {
      options = options.limit(limit);
    }
    try (TrackingCursor cursor =
        new TrackingCursor(store.cursor(options), GroupClock.WALL, null, options)) {
      for (int i = random.nextInt(6); i > 0; i--) {
        int move = random.nextInt(6);
        byte[] to = bytes(KEYS.get(random.nextInt(KEYS.size())));
        boolean found =
            switch (move) {
              case 0 -> cursor.previous();
              case 1 -> cursor.seek(to);
              case 2 -> cursor.seekFloor(to);
              default -> cursor.next();
            };
        seen.add(move + (found ? " " + new String(cursor.key(), UTF_8) : " -"));
      }
      return cursor.covered();
    }
  }

  private static byte @Nullable [] bound(Random random) {
    return random.nextBoolean() ? null : bytes(KEYS.get(random.nextInt(KEYS.size())));
  }

  private static String text(Recorder.@Nullable Range range) {
    return range == null ? "nothing" : text(range.from()) + " to " + text(range.to());
  }

  private static String text(byte @Nullable [] bound) {
    return bound == null ? "end" : new String(bound, UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }
}
