package io.kvsep.cluster;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.StoreClosedException;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class MergedCursorTest {
  private static final int KEYS = 40;

  private final List<KvStore> parts = Stream.generate(KvStore::inMemory).limit(4).toList();
  private final KvStore whole = KvStore.inMemory();

  @AfterEach
  void close() {
    parts.forEach(KvStore::close);
    whole.close();
  }

  /** As the cursor of one store moves, with every option. */
  @ParameterizedTest
  @ValueSource(longs = {1, 2, 3, 4, 5})
  void movesAsACursorOfOneStore(long seed) {
    Random random = new Random(seed);
    for (int i = 0; i < KEYS; i++) {
      // The last store stays empty.
      put(random.nextInt(3), key(2 * random.nextInt(KEYS)));
    }
    for (int round = 0; round < 200; round++) {
      ScanOptions options = options(random);
      try (KvCursor expected = whole.cursor(options);
          KvCursor merged = MergedCursor.of(parts, options)) {
        StringBuilder moves = new StringBuilder(options.isReverse() ? "reverse" : "");
        moves.append(" limit ").append(options.limit()).append(':');
        for (int i = 0; i < 30; i++) {
          moveBoth(random, expected, merged, moves);
        }
      }
    }
  }

  private static void moveBoth(
      Random random, KvCursor expected, KvCursor merged, StringBuilder moves) {
    byte[] key = key(random.nextInt(2 * KEYS + 2));
    int move = random.nextInt(8);
    moves.append(move < 4 ? " next" : move < 6 ? " previous" : move < 7 ? " seek " : " floor ");
    moves.append(move < 6 ? "" : new String(key, UTF_8));
    assertEquals(move(expected, move, key), move(merged, move, key), moves::toString);
    assertEquals(expected.isValid(), merged.isValid(), moves::toString);
    if (expected.isValid()) {
      assertArrayEquals(expected.key(), merged.key(), moves::toString);
      assertArrayEquals(expected.value(), merged.value(), moves::toString);
    }
  }

  private static boolean move(KvCursor cursor, int move, byte[] key) {
    return move < 4
        ? cursor.next()
        : move < 6 ? cursor.previous() : move < 7 ? cursor.seek(key) : cursor.seekFloor(key);
  }

  private static ScanOptions options(Random random) {
    ScanOptions options =
        random.nextBoolean()
            ? ScanOptions.all()
            : ScanOptions.range(key(random.nextInt(KEYS)), key(KEYS + random.nextInt(KEYS)));
    options = random.nextBoolean() ? options.reverse() : options;
    return random.nextBoolean() ? options : options.limit(random.nextInt(6));
  }

  @Test
  void anEmptyOneIsNowhere() {
    try (KvCursor merged = MergedCursor.of(parts, ScanOptions.all())) {
      assertFalse(merged.next());
      assertFalse(merged.previous());
      assertThrows(IllegalStateException.class, merged::key);
    }
  }

  /** Some parts may have moved alone, so a step from there could leave out entries. */
  @Test
  void afterAMoveThatFailedItIsNowhere() {
    for (int i = 0; i < 6; i++) {
      put(i % 2, key(i));
    }
    try (KvCursor merged = MergedCursor.of(parts, ScanOptions.all())) {
      assertTrue(merged.next());
      assertTrue(merged.next());
      parts.get(1).close();
      assertThrows(StoreClosedException.class, merged::next);
      assertFalse(merged.isValid());
      assertThrows(IllegalStateException.class, merged::next);
      assertThrows(IllegalStateException.class, merged::previous);
      assertThrows(IllegalStateException.class, merged::key);
      assertThrows(StoreClosedException.class, () -> merged.seek(key(0)));
    }
  }

  private void put(int part, byte[] key) {
    byte[] value = {(byte) part, key[0]};
    if (whole.get(key) == null) {
      whole.put(key, value);
      parts.get(part).put(key, value);
    }
  }

  private static byte[] key(int number) {
    return String.format("%03d", number).getBytes(UTF_8);
  }
}
