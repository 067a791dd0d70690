package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ModelDraw;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/** One space at one moment, the present or that of a snapshot, and what it must show. */
record ModelPast(int number, KvReader reader, ModelState state) {
  /** Reads one key in some way, and sometimes several at once. */
  void checkReads(Random random, ModelDraw draw, byte[] key, long nowMillis) {
    byte[] expected = state.value(number, key, nowMillis);
    switch (random.nextInt(4)) {
      case 0 -> assertArrayEquals(expected, reader.get(key));
      case 1 -> assertEquals(expected != null, reader.contains(key));
      case 2 -> assertArrayEquals(expected, reader.<byte[]>read(key, StoreModelCursor::bytes));
      default -> {
        Bytes<byte[]> target = Bytes.allocateElasticOnHeap(16);
        long length = reader.get(Bytes.wrapForRead(key), target);
        assertEquals(expected == null ? -1 : expected.length, length);
        assertArrayEquals(expected == null ? ModelDraw.NO_BYTES : expected, target.toByteArray());
      }
    }
    if (random.nextInt(8) == 0) {
      List<byte[]> keys = new ArrayList<>();
      List<byte @Nullable []> values = new ArrayList<>();
      for (int i = random.nextInt(20); i > 0; i--) {
        byte[] next = random.nextInt(4) == 0 ? key : draw.key();
        keys.add(next);
        values.add(state.value(number, next, nowMillis));
      }
      assertArrayEquals(values.toArray(), reader.getAll(keys).toArray());
    }
  }

  /** Reads everything that must be there, key by key. */
  void checkEach(long nowMillis) {
    for (Map.Entry<byte[], Cell> entry : state.entries(number, null, null, nowMillis)) {
      assertArrayEquals(entry.getValue().value(), reader.get(entry.getKey()));
    }
  }

  /** All that can be seen of a space, as {@link ModelState#describe} has it. */
  static String describe(KvReader reader) {
    StringBuilder text = new StringBuilder();
    try (KvCursor cursor = reader.cursor()) {
      while (cursor.next()) {
        long expiry = cursor.expiresAtMillis().orElse(Long.MAX_VALUE);
        ModelState.describe(text, cursor.key(), new Cell(cursor.value(), expiry));
      }
    }
    return text.toString();
  }

  /** A cursor with bounds and options drawn at random. */
  StoreModelCursor cursor(Random random, ModelDraw draw, long nowMillis) {
    byte[] from = random.nextInt(3) == 0 ? draw.key() : null;
    byte[] to = random.nextInt(3) == 0 ? draw.key() : null;
    boolean reverse = random.nextInt(3) == 0;
    boolean keysOnly = random.nextInt(6) == 0;
    long limit = random.nextInt(4) == 0 ? random.nextInt(9) : Long.MAX_VALUE;
    ScanOptions options =
        from == null && to == null ? ScanOptions.all() : ScanOptions.range(from, to);
    options = reverse ? options.reverse() : options;
    options = keysOnly ? options.keysOnly() : options;
    options = limit < Long.MAX_VALUE ? options.limit(limit) : options;
    options = random.nextBoolean() ? options.prefetch(random.nextInt(9)) : options;
    List<Map.Entry<byte[], Cell>> expected = state.entries(number, from, to, nowMillis);
    if (reverse) {
      Collections.reverse(expected);
    }
    StoreModelCursor.Look look = new StoreModelCursor.Look(reverse, keysOnly, limit);
    return new StoreModelCursor(reader.cursor(options), expected, look);
  }
}
