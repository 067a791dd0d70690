package io.kvsep;

import io.kvsep.internal.memory.PageFaults;
import io.kvsep.internal.read.InternalCursor;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.OptionalLong;

/** Implements the cursor API on an engine cursor. */
final class StoreCursor implements KvCursor {
  private final InternalCursor cursor;

  StoreCursor(InternalCursor cursor) {
    this.cursor = cursor;
  }

  @Override
  public boolean next() {
    try {
      return cursor.next();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public boolean previous() {
    try {
      return cursor.previous();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public boolean seek(byte[] key) {
    return PageFaults.guard(() -> cursor.seek(Objects.requireNonNull(key, "key")));
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return PageFaults.guard(() -> cursor.seekFloor(Objects.requireNonNull(key, "key")));
  }

  @Override
  public boolean isValid() {
    return cursor.isValid();
  }

  @Override
  public byte[] key() {
    try {
      return cursor.key();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public byte[] value() {
    try {
      return cursor.value();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public ByteBuffer keyView() {
    try {
      return cursor.keyView();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public ByteBuffer valueView() {
    try {
      return cursor.valueView();
    } catch (InternalError e) {
      throw PageFaults.error(e);
    }
  }

  @Override
  public int valueLength() {
    return PageFaults.guard(cursor::valueLength);
  }

  @Override
  public OptionalLong expiresAtMillis() {
    long expiry = PageFaults.guard(cursor::expiresAtMillis);
    return expiry == InternalCursor.NEVER ? OptionalLong.empty() : OptionalLong.of(expiry);
  }

  @Override
  public void close() {
    cursor.close();
  }
}
