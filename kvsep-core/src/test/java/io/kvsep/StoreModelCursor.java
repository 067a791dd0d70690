package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.ModelCursor;
import io.kvsep.testing.ModelState.Cell;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;

/** A public cursor in step with the model. Not thread safe. */
final class StoreModelCursor extends ModelCursor {
  /** How a cursor was asked for, as far as its answers depend on it. */
  record Look(boolean reverse, boolean keysOnly, long limit) {}

  private final KvCursor cursor;
  private final Look look;

  StoreModelCursor(KvCursor cursor, List<Map.Entry<byte[], Cell>> expected, Look look) {
    super(
        new Calls(
            cursor::next,
            cursor::previous,
            cursor::seek,
            cursor::seekFloor,
            cursor::isValid,
            cursor::key,
            cursor::close),
        expected,
        look.reverse(),
        look.limit());
    this.cursor = cursor;
    this.look = look;
  }

  /** Its store is closed, and it is not. */
  void checkClosed() {
    assertThrows(StoreClosedException.class, cursor::next);
  }

  @Override
  protected void checkEntry(byte[] key, Cell cell) {
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

  static byte[] bytes(ByteBuffer view) {
    byte[] bytes = new byte[view.remaining()];
    view.get(bytes);
    return bytes;
  }
}
