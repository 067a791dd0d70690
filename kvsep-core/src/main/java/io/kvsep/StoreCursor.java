package io.kvsep;

import io.kvsep.internal.engine.EngineCursor;
import java.nio.ByteBuffer;
import java.util.Objects;
import java.util.OptionalLong;

/** A cursor of the API over one of the engine. */
final class StoreCursor implements KvCursor {
  private final EngineCursor cursor;
  private byte[] keyCopy = new byte[64];
  private ByteBuffer keyView = ByteBuffer.wrap(keyCopy).asReadOnlyBuffer();

  StoreCursor(EngineCursor cursor) {
    this.cursor = cursor;
  }

  @Override
  public boolean next() {
    return cursor.next();
  }

  @Override
  public boolean previous() {
    return cursor.previous();
  }

  @Override
  public boolean seek(byte[] key) {
    return cursor.seek(Objects.requireNonNull(key, "key"));
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return cursor.seekFloor(Objects.requireNonNull(key, "key"));
  }

  @Override
  public boolean isValid() {
    return cursor.isValid();
  }

  @Override
  public byte[] key() {
    return cursor.key();
  }

  @Override
  public byte[] value() {
    return cursor.value();
  }

  @Override
  public ByteBuffer keyView() {
    int length = cursor.keyInto(keyCopy);
    if (length > keyCopy.length) {
      keyCopy = new byte[Math.max(length, 2 * keyCopy.length)];
      keyView = ByteBuffer.wrap(keyCopy).asReadOnlyBuffer();
      cursor.keyInto(keyCopy);
    }
    return keyView.clear().limit(length);
  }

  @Override
  public ByteBuffer valueView() {
    return cursor.valueView();
  }

  @Override
  public int valueLength() {
    return cursor.valueLength();
  }

  @Override
  public OptionalLong expiresAtMillis() {
    long expiry = cursor.expiresAtMillis();
    return expiry == EngineCursor.NEVER ? OptionalLong.empty() : OptionalLong.of(expiry);
  }

  @Override
  public void close() {
    cursor.close();
  }
}
