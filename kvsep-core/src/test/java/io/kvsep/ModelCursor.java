package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.ModelState.Cell;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Random;
import java.util.function.Supplier;

/** A cursor in step with an index into the entries that it has to show. Not thread safe. */
final class ModelCursor implements AutoCloseable {
  /** How a cursor was asked for, as far as its answers depend on it. */
  record Look(boolean reverse, boolean keysOnly, long limit) {}

  private final KvCursor cursor;
  private final List<Map.Entry<byte[], Cell>> expected;
  private final Look look;
  private int index = -1;
  private boolean fresh = true;

  /** The expected entries come in the cursor's order, all of them whatever its limit is. */
  ModelCursor(KvCursor cursor, List<Map.Entry<byte[], Cell>> expected, Look look) {
    this.cursor = cursor;
    this.expected =
        look.limit() < expected.size() ? expected.subList(0, (int) look.limit()) : expected;
    this.look = look;
  }

  KvCursor cursor() {
    return cursor;
  }

  /** Moves that take it from a new cursor's place past the end. */
  int length() {
    return expected.size() + 1;
  }

  /** A limit is counted anew from each seek, so a cursor that has one only goes forward. */
  boolean onlyForward() {
    return look.limit() < Long.MAX_VALUE;
  }

  void forward() {
    index = Math.min(expected.size(), index + 1);
    assertEquals(index < expected.size(), cursor.next());
    fresh = false;
    checkEntry();
  }

  void anywhere(Random random, Supplier<byte[]> keys) {
    int move = onlyForward() ? 0 : random.nextInt(6);
    if (move <= 2) {
      forward();
      return;
    }
    if (move <= 4) {
      index = fresh ? expected.size() - 1 : Math.max(-1, index - 1);
      assertEquals(index >= 0, cursor.previous());
    } else if (random.nextBoolean()) {
      byte[] target = keys.get();
      index = ceiling(target);
      assertEquals(index < expected.size(), cursor.seek(target));
    } else {
      byte[] target = keys.get();
      index = floor(target);
      assertEquals(index >= 0, cursor.seekFloor(target));
    }
    fresh = false;
    checkEntry();
  }

  private void checkEntry() {
    boolean valid = index >= 0 && index < expected.size();
    assertEquals(valid, cursor.isValid());
    if (!valid) {
      assertThrows(IllegalStateException.class, cursor::key);
      return;
    }
    byte[] key = expected.get(index).getKey();
    Cell cell = expected.get(index).getValue();
    assertArrayEquals(key, cursor.key());
    assertArrayEquals(key, bytes(cursor.keyView()));
    assertEquals(cell.value().length, cursor.valueLength());
    OptionalLong expiry = cursor.expiresAtMillis();
    assertEquals(cell.expiresAtMillis(), expiry.orElse(Long.MAX_VALUE));
    if (look.keysOnly()) {
      assertThrows(IllegalStateException.class, cursor::value);
    } else {
      assertArrayEquals(cell.value(), cursor.value());
      ByteBuffer view = cursor.valueView();
      assertTrue(view.isReadOnly());
      assertArrayEquals(cell.value(), bytes(view));
    }
  }

  /** Index of the first entry at or after the target in the cursor's order. */
  private int ceiling(byte[] target) {
    for (int i = 0; i < expected.size(); i++) {
      if (order(i, target) >= 0) {
        return i;
      }
    }
    return expected.size();
  }

  /** Index of the last entry at or before the target in the cursor's order. */
  private int floor(byte[] target) {
    int found = -1;
    for (int i = 0; i < expected.size(); i++) {
      if (order(i, target) <= 0) {
        found = i;
      }
    }
    return found;
  }

  private int order(int entry, byte[] target) {
    int order = Arrays.compareUnsigned(expected.get(entry).getKey(), target);
    return look.reverse() ? -order : order;
  }

  static byte[] bytes(ByteBuffer view) {
    byte[] bytes = new byte[view.remaining()];
    view.get(bytes);
    return bytes;
  }

  @Override
  public void close() {
    cursor.close();
  }
}
