package io.kvsep.cluster;

import io.kvsep.KvCursor;
import java.nio.ByteBuffer;
import java.util.OptionalLong;

/** A cursor of a user, which sees entries expire by the wall clock or as of one time. */
class ReaderCursor implements KvCursor {
  private final KvCursor cursor;
  private final long readMillis;

  /**
   * @param readMillis as for {@link GroupClock#at}
   */
  ReaderCursor(KvCursor cursor, long readMillis) {
    this.cursor = cursor;
    this.readMillis = readMillis;
  }

  @Override
  public boolean next() {
    return GroupClock.<Boolean>at(readMillis, cursor::next);
  }

  @Override
  public boolean previous() {
    return GroupClock.<Boolean>at(readMillis, cursor::previous);
  }

  @Override
  public boolean seek(byte[] key) {
    return GroupClock.<Boolean>at(readMillis, () -> cursor.seek(key));
  }

  @Override
  public boolean seekFloor(byte[] key) {
    return GroupClock.<Boolean>at(readMillis, () -> cursor.seekFloor(key));
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
