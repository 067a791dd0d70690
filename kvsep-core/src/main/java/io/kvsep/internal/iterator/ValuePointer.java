package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import io.kvsep.internal.memory.Varint;

/**
 * Location of a separated value. A rewritten segment keeps its id.
 *
 * <pre>
 * field          bytes
 * segment        varint   logical segment id
 * offset         varint   of the record, from the start of the segment
 * recordLength   varint   whole record: header, key, stored value
 * valueLength    varint   of the value as the user gave it
 * </pre>
 *
 * <p>An instance holds decoded fields. Not thread safe.
 */
public final class ValuePointer {
  public static final int BYTES_MAX = 10 + 5 + 5 + 5;

  public long segment;
  public long offset;
  public int recordLength;

  /** Sets the fields. */
  public void decode(Region region, long at) {
    segment = Varint.get(region, at);
    long next = at + Varint.length(segment);
    offset = Varint.get(region, next);
    recordLength = Varint.getInt(region, next + Varint.length(offset));
  }

  /** Writes a pointer and returns the offset after it. */
  public static long put(
      Region region, long at, long segment, long offset, int recordLength, int valueLength) {
    long next = Varint.put(region, at, segment);
    next = Varint.put(region, next, offset);
    next = Varint.put(region, next, recordLength);
    return Varint.put(region, next, valueLength);
  }

  public static int encodedLength(long segment, long offset, int recordLength, int valueLength) {
    return Varint.length(segment)
        + Varint.length(offset)
        + Varint.length(recordLength)
        + Varint.length(valueLength);
  }

  public static long segment(Region region, long at) {
    return Varint.get(region, at);
  }

  public static long offset(Region region, long at) {
    return Varint.get(region, offsetField(region, at));
  }

  public static int recordLength(Region region, long at) {
    return Varint.getInt(region, recordLengthField(region, at));
  }

  public static int valueLength(Region region, long at) {
    long field = recordLengthField(region, at);
    return Varint.getInt(region, field + Varint.length(Varint.get(region, field)));
  }

  private static long offsetField(Region region, long at) {
    return at + Varint.length(Varint.get(region, at));
  }

  private static long recordLengthField(Region region, long at) {
    long field = offsetField(region, at);
    return field + Varint.length(Varint.get(region, field));
  }
}
