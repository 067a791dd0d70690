package io.kvsep.internal.load;

import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import io.kvsep.internal.read.ReadContext;
import io.kvsep.internal.write.BatchWrites;
import java.io.IOException;

/**
 * Reads the input of a bulk load, one buffer at a time. Writes the longest values directly, so that
 * at most one is held; the others go into the buffer. Not thread safe.
 */
final class LoadInput {
  /** Longer values are written in input order: a scan reads each of them sequentially anyway. */
  private static final int ORDERED_VALUE_BYTES_MAX = 16 << 10;

  private static final int PULSE_ENTRIES = 1024;

  private final LoadSource source;
  private final LoadValues values;
  private final LoadWorker.Work pulse;
  private final int inlineValueBytesMax;
  private final int keyspaceOfLoad;
  private int keyspace;
  private byte[] prefix;
  private long entryCount;
  private long userBytes;
  private long longestEntry;

  /** Whether the current entry of the source did not fit into the buffer. */
  private boolean pending;

  private boolean ended;

  /**
   * @param values receives the values that do not go into the buffer
   * @param pulse called from time to time; may throw to cancel
   */
  LoadInput(
      int keyspace,
      LoadSource source,
      LoadValues values,
      int inlineValueBytesMax,
      LoadWorker.Work pulse) {
    this.source = source;
    this.values = values;
    this.pulse = pulse;
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.keyspaceOfLoad = keyspace;
    this.keyspace = keyspace;
    this.prefix = Keyspaces.storedKey(keyspace, new byte[0]);
  }

  long entryCount() {
    return entryCount;
  }

  long userBytes() {
    return userBytes;
  }

  /** Length of key and payload, as stored in a buffer. */
  long longestEntry() {
    return longestEntry;
  }

  boolean hasEnded() {
    return ended && !pending;
  }

  /** Fills and sorts the buffer; returns false if no input is left. */
  boolean fill(LoadBuffer buffer) throws IOException {
    buffer.clear();
    if (pending) {
      pending = false;
      add(buffer);
    }
    while (!pending && !ended) {
      if (source.next()) {
        ReadContext.checkKeyLength(source.key().length);
        BatchWrites.checkValueLength(source.value().length);
        entryCount++;
        userBytes += (long) source.key().length + source.value().length;
        if (entryCount % PULSE_ENTRIES == 0) {
          pulse.run();
        }
        add(buffer);
      } else {
        ended = true;
      }
    }
    buffer.sort();
    return !buffer.isEmpty();
  }

  /** Leaves the current entry of the source pending if it does not fit. */
  private void add(LoadBuffer buffer) throws IOException {
    if (source.keyspace(keyspaceOfLoad) != keyspace) {
      keyspace = source.keyspace(keyspaceOfLoad);
      prefix = Keyspaces.storedKey(keyspace, new byte[0]);
    }
    byte[] key = source.key();
    byte[] value = source.value();
    long expiry = source.expiresAtMillis();
    boolean byPointer =
        value.length > inlineValueBytesMax && value.length > ORDERED_VALUE_BYTES_MAX;
    int expires = expiry == Payload.NEVER ? 0 : Tag.EXPIRES;
    int header = Payload.headerLength(expires);
    int keyLength = prefix.length + key.length;
    int payloadMax = header + (byPointer ? ValuePointer.BYTES_MAX : value.length);
    if (buffer.isEmpty()) {
      buffer.grow(keyLength, payloadMax);
    } else if (!buffer.hasRoom(keyLength, payloadMax)) {
      pending = true;
      return;
    }
    longestEntry = Math.max(longestEntry, (long) keyLength + payloadMax);
    Region region = buffer.region();
    long keyAt = buffer.newKeyOffset();
    region.put(keyAt, prefix, 0, prefix.length);
    region.put(keyAt + prefix.length, key, 0, key.length);
    long payloadAt = keyAt + keyLength;
    if (header > 0) {
      region.putLong(payloadAt, expiry);
    }
    if (byPointer) {
      int pointer = values.add(region, keyAt, keyLength, expiry, value, region, payloadAt + header);
      buffer.add(Tag.POINTER | expires, keyLength, header + pointer);
    } else {
      region.put(payloadAt + header, value, 0, value.length);
      int kind = source.isDelete() ? Tag.DELETE : Tag.PUT | expires;
      buffer.add(kind, keyLength, header + value.length);
    }
  }
}
