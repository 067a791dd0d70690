package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.kvsep.internal.read.ScanBounds;
import io.kvsep.internal.read.SnapshotCursor;
import io.kvsep.testing.ModelCursor;
import io.kvsep.testing.ModelState.Cell;
import java.util.List;
import java.util.Map;

/** A cursor of the engine in step with the model. Not thread safe. */
final class EngineModelCursor extends ModelCursor {
  private final SnapshotCursor cursor;

  EngineModelCursor(
      SnapshotCursor cursor, List<Map.Entry<byte[], Cell>> expected, ScanBounds bounds) {
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
        bounds.reverse(),
        bounds.limit());
    this.cursor = cursor;
  }

  @Override
  protected void checkEntry(byte[] key, Cell cell) {
    assertEquals(cell.value().length, cursor.valueLength());
    assertArrayEquals(cell.value(), cursor.value());
    assertEquals(cell.expiresAtMillis(), cursor.expiresAtMillis());
  }
}
