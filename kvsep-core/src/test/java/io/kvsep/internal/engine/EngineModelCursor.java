package io.kvsep.internal.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.testing.ModelCursor;
import io.kvsep.testing.ModelState.Cell;
import java.util.List;
import java.util.Map;

/** A cursor of the engine in step with the model. Not thread safe. */
final class EngineModelCursor extends ModelCursor {
  private final EngineCursor cursor;

  EngineModelCursor(EngineCursor cursor, List<Map.Entry<byte[], Cell>> expected, boolean reverse) {
    super(expected, reverse);
    this.cursor = cursor;
  }

  @Override
  protected boolean next() {
    return cursor.next();
  }

  @Override
  protected boolean previous() {
    return cursor.previous();
  }

  @Override
  protected boolean seek(byte[] target) {
    return cursor.seek(target);
  }

  @Override
  protected boolean seekFloor(byte[] target) {
    return cursor.seekFloor(target);
  }

  @Override
  protected boolean isValid() {
    return cursor.isValid();
  }

  @Override
  protected void checkNoEntry() {
    assertThrows(IllegalStateException.class, cursor::key);
  }

  @Override
  protected void checkEntry(byte[] key, Cell cell) {
    assertArrayEquals(key, cursor.key());
    assertEquals(cell.value().length, cursor.valueLength());
    assertArrayEquals(cell.value(), cursor.value());
    assertEquals(cell.expiresAtMillis(), cursor.expiresAtMillis());
  }

  @Override
  public void close() {
    cursor.close();
  }
}
