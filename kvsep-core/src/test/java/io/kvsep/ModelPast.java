package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.testing.ModelDraw;
import io.kvsep.testing.ModelState;
import io.kvsep.testing.ModelState.Cell;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import org.jspecify.annotations.Nullable;

/** One space at one moment, the present or that of a snapshot, and what it must show. */
record ModelPast(int number, KvReader reader, ModelState state) {
  /** Reads one key in some way, and sometimes several at once. */
  void checkReads(Random random, ModelDraw draw, byte[] key, long nowMillis) {
    byte[] expected = state.value(number, key, nowMillis);
    switch (random.nextInt(8)) {
      case 0 -> assertArrayEquals(expected, reader.get(key));
      case 1 -> assertEquals(expected != null, reader.contains(key));
      case 2 -> assertArrayEquals(expected, reader.<byte[]>read(key, StoreModelCursor::bytes));
      case 3 -> {
        Bytes<byte[]> target = Bytes.allocateElasticOnHeap(16);
        long length = reader.get(Bytes.wrapForRead(key), target);
        assertEquals(expected == null ? -1 : expected.length, length);
        assertArrayEquals(expected == null ? ModelDraw.NO_BYTES : expected, target.toByteArray());
      }
      case 4 -> checkBuffer(random, key, expected);
      default -> checkNeighbour(random, draw, key, nowMillis);
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

  private void checkBuffer(Random random, byte[] key, byte @Nullable [] expected) {
    int length = expected == null ? 0 : expected.length;
    int start = random.nextInt(4);
    int room = Math.max(0, length + random.nextInt(4) - 1);
    ByteBuffer target =
        random.nextBoolean()
            ? ByteBuffer.allocateDirect(start + room)
            : ByteBuffer.wrap(new byte[start + room + 3], 1, start + room + 1).slice();
    target.limit(start + room).position(start);
    assertEquals(expected == null ? -1 : length, reader.get(key, target));
    boolean fits = expected != null && length <= room;
    assertEquals(fits ? start + length : start, target.position());
    assertEquals(start + room, target.limit());
    byte[] put = new byte[target.position() - start];
    target.get(start, put);
    assertArrayEquals(fits ? expected : ModelDraw.NO_BYTES, put);
  }

  /** The first and last entries, those around a key, and small streams. */
  private void checkNeighbour(Random random, ModelDraw draw, byte[] drawn, long nowMillis) {
    byte[] key = random.nextInt(16) == 0 ? ModelDraw.NO_BYTES : drawn;
    byte[] after = Arrays.copyOf(key, key.length + 1);
    switch (random.nextInt(8)) {
      case 0 -> assertEquals(first(null, null, nowMillis), reader.first());
      case 1 -> assertEquals(last(null, null, nowMillis), reader.last());
      case 2 -> assertEquals(last(null, after, nowMillis), reader.floor(key));
      case 3 -> assertEquals(first(key, null, nowMillis), reader.ceiling(key));
      case 4 -> assertEquals(last(null, key, nowMillis), reader.lower(key));
      case 5 -> assertEquals(first(after, null, nowMillis), reader.higher(key));
      case 6 -> {
        byte[] to = draw.key();
        List<KvEntry> found = new ArrayList<>();
        reader.forEach(
            ScanOptions.range(key, to), (at, value) -> found.add(new KvEntry(at, value)));
        assertEquals(entries(key, to, nowMillis), found);
      }
      default -> {
        int most = random.nextInt(5);
        List<KvEntry> expected = entries(key, null, nowMillis);
        try (Stream<KvEntry> stream = reader.stream(ScanOptions.range(key, null))) {
          assertEquals(
              expected.subList(0, Math.min(most, expected.size())), stream.limit(most).toList());
        }
      }
    }
  }

  private List<KvEntry> entries(byte @Nullable [] from, byte @Nullable [] to, long nowMillis) {
    List<KvEntry> entries = new ArrayList<>();
    for (Map.Entry<byte[], Cell> entry : state.entries(number, from, to, nowMillis)) {
      entries.add(new KvEntry(entry.getKey(), entry.getValue().value()));
    }
    return entries;
  }

  private @Nullable KvEntry first(byte @Nullable [] from, byte @Nullable [] to, long nowMillis) {
    List<KvEntry> entries = entries(from, to, nowMillis);
    return entries.isEmpty() ? null : entries.get(0);
  }

  private @Nullable KvEntry last(byte @Nullable [] from, byte @Nullable [] to, long nowMillis) {
    List<KvEntry> entries = entries(from, to, nowMillis);
    return entries.isEmpty() ? null : entries.get(entries.size() - 1);
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
