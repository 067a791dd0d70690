package io.kvsep.cluster;

import io.kvsep.KvCursor;
import java.nio.ByteBuffer;
import java.util.OptionalLong;

/** A cursor of a user, which sees entries expire by the wall clock. */
class ReaderCursor implements KvCursor {
  private final KvCursor cursor;

  ReaderCursor(KvCursor cursor) {
    this.cursor = cursor;
  }

  @Override
  public boolean next() {
    return GroupClock.<Boolean>asReader(cursor::next);
  }

  @Override
  public boolean previous() {
    return GroupClock.<Boolean>asReader(cursor::previous);
  }

  @Override
  public boolean seek(byte[] key) {
    return GroupClock.<Boolean>asReader(() -> cursor.seek(key));
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return GroupClock.<Boolean>asReader(() -> cursor.seekFloor(key));
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
    return cursor.keyView();
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
    return cursor.expiresAtMillis();
  }

  @Override
  public void close() {
    cursor.close();
  }
}
