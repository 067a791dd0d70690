package io.kvsep.cluster;

import java.nio.ByteBuffer;

/**
 * How far a store is: the last entry whose writes it has, and the time of the group then. Stands in
 * the store itself, in the batch of those writes.
 *
 * <pre>
 * version u8 = 1, term i64, index i64, timeMillis i64
 * </pre>
 */
record Applied(long term, long index, long timeMillis) {
  static final Applied NOTHING = new Applied(0, -1, 0);

  private static final int BYTES = 1 + 3 * Long.BYTES;

  byte[] encode() {
    return ByteBuffer.allocate(BYTES)
        .put((byte) 1)
        .putLong(term)
        .putLong(index)
        .putLong(timeMillis)
        .array();
  }

  /**
   * @throws MalformedEntryException if a later version has written it
   */
  static Applied decode(byte[] bytes) throws MalformedEntryException {
    if (bytes.length != BYTES || bytes[0] != 1) {
      throw new MalformedEntryException("record of the applied index, length " + bytes.length);
    }
    ByteBuffer in = ByteBuffer.wrap(bytes, 1, BYTES - 1);
    return new Applied(in.getLong(), in.getLong(), in.getLong());
  }
}
