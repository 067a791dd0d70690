package io.kvsep.internal.engine;

import io.kvsep.error.StorageException;
import io.kvsep.internal.base.Keyspaces;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.GrowingRegion;
import io.kvsep.internal.memory.MemoryLedger;
import io.kvsep.internal.memory.MemoryPurpose;
import io.kvsep.internal.memory.Region;
import java.io.IOException;

/**
 * What a user hands to a bulk load, as entries of an index, one run of ascending keys after the
 * other. As much as the buffer takes is sorted at a time; as long as what follows lies behind it,
 * the run goes on. So ascending input is one run whatever its length, and any other is about as
 * many runs as it is times as long as the buffer. Within a run each key comes once.
 *
 * <p>Values that do not stay beside their key are put into their files as the walk comes to them,
 * so that they lie in the order of keys; the longest ones, for which that order does not matter,
 * when they are handed in, so that no more than one of them is held.
 *
 * <p>Goes forward only, each run once. Not thread safe.
 */
final class LoadedEntries extends InternalIterator {
  /** Values from here on are written as they come: a scan reads each of them at one go anyway. */
  private static final int ORDERED_VALUE_BYTES_MAX = 16 << 10;

  /** Entries between two looks at the world. */
  private static final int PULSE_ENTRIES = 1024;

  private final LoadSource source;
  private final LoadBuffer buffer;
  private final LoadValues values;
  private final Runnable pulse;
  private final int inlineValueBytesMax;
  private final byte[] prefix;
  private final GrowingRegion pointer;
  private final GrowingRegion lastKey;
  private long entryCount;
  private long userBytes;
  private int lastKeyLength;
  private long sequence;

  /** Whether the source stands on an entry that did not fit into the buffer any more. */
  private boolean pending;

  private boolean ended;

  /**
   * @param source only asked on the thread of the walk
   * @param pulse is called now and then and may throw to give up
   */
  LoadedEntries(
      int keyspace,
      LoadSource source,
      LoadBuffer buffer,
      LoadValues values,
      int inlineValueBytesMax,
      MemoryLedger ledger,
      Runnable pulse) {
    this.source = source;
    this.buffer = buffer;
    this.values = values;
    this.pulse = pulse;
    this.inlineValueBytesMax = inlineValueBytesMax;
    this.prefix = Keyspaces.storedKey(keyspace, new byte[0]);
    this.pointer = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
    this.lastKey = new GrowingRegion(ledger, MemoryPurpose.BULK_LOAD);
    this.payloadPasses = true;
  }

  /**
   * Gets the next run ready, all of which has the same sequence number; false when all has been
   * walked.
   */
  boolean begin(long runSequence) {
    sequence = runSequence;
    valid = false;
    if (buffer.isEmpty()) {
      fill();
    }
    return !buffer.isEmpty();
  }

  /** Entries handed in so far. */
  long entryCount() {
    return entryCount;
  }

  /** Bytes of their keys and values. */
  long userBytes() {
    return userBytes;
  }

  @Override
  public void seekToFirst() {
    next();
  }

  @Override
  public void next() {
    boolean there = buffer.next();
    if (!there && valid) {
      there = goOn();
    }
    valid = there;
    if (there) {
      stand();
    }
  }

  @Override
  public void seekToLast() {
    throw forwardOnly();
  }

  @Override
  public void seek(Region key, long offset, int length, long seekTag) {
    throw forwardOnly();
  }

  @Override
  public void seekBefore(Region key, long offset, int length, long seekTag) {
    throw forwardOnly();
  }

  @Override
  public void previous() {
    throw forwardOnly();
  }

  /** Frees what is held; buffer and values are the caller's. */
  @Override
  public void close() {
    pointer.close();
    lastKey.close();
  }

  private static UnsupportedOperationException forwardOnly() {
    return new UnsupportedOperationException("entries that are loaded pass by once");
  }

  /** Fills the buffer again; whether the first entry in it is behind the one before it. */
  private boolean goOn() {
    lastKeyLength = keyLength;
    lastKey.ensure(keyLength).put(0, keyRegion(), keyOffset, keyLength);
    fill();
    if (!buffer.next()) {
      return false;
    }
    int order =
        Region.compare(
            lastKey.region(),
            0,
            lastKeyLength,
            buffer.region(),
            buffer.keyOffset(),
            buffer.keyLength());
    if (order >= 0) {
      buffer.rewind();
    }
    return order < 0;
  }

  private void fill() {
    buffer.clear();
    if (pending) {
      pending = false;
      add();
    }
    while (!pending && !ended) {
      ended = !source.next();
      if (ended) {
        break;
      }
      ReadContext.checkKeyLength(source.key().length);
      WriteBuffer.checkValueLength(source.value().length);
      entryCount++;
      userBytes += (long) source.key().length + source.value().length;
      if (entryCount % PULSE_ENTRIES == 0) {
        pulse.run();
      }
      add();
    }
    buffer.sort();
  }

  /** Puts the source's current entry into the buffer; without room for it it stays pending. */
  private void add() {
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
    Region region = buffer.region();
    long keyAt = buffer.newKeyOffset();
    region.put(keyAt, prefix, 0, prefix.length);
    region.put(keyAt + prefix.length, key, 0, key.length);
    long payloadAt = keyAt + keyLength;
    if (header > 0) {
      region.putLong(payloadAt, expiry);
    }
    if (byPointer) {
      int pointerLength;
      try {
        pointerLength =
            values.add(region, keyAt, keyLength, expiry, value, region, payloadAt + header);
      } catch (IOException e) {
        throw cannotWrite(e);
      }
      buffer.add(Tag.POINTER | expires, keyLength, header + pointerLength);
    } else {
      region.put(payloadAt + header, value, 0, value.length);
      buffer.add(Tag.PUT | expires, keyLength, header + value.length);
    }
  }

  /** Makes the buffer's current entry the current one. */
  private void stand() {
    Region region = buffer.region();
    keyRegion = region;
    keyOffset = buffer.keyOffset();
    keyLength = buffer.keyLength();
    payloadRegion = region;
    payloadOffset = buffer.payloadOffset();
    payloadLength = buffer.payloadLength();
    int kind = buffer.kind();
    int header = Payload.headerLength(kind);
    if (Tag.baseKind(kind) == Tag.PUT && payloadLength - header > inlineValueBytesMax) {
      kind = Tag.POINTER | (kind & Tag.EXPIRES);
      payloadLength = header + writeValue(kind, header);
      payloadRegion = pointer.region();
      payloadOffset = 0;
    }
    tag = Tag.of(sequence, kind);
  }

  /** Writes the current value, and a payload that points to it; the length of the pointer. */
  private int writeValue(int kind, int header) {
    Region region = buffer.region();
    Region target = pointer.ensure(Payload.EXPIRY_BYTES + ValuePointer.BYTES_MAX);
    target.put(0, region, payloadOffset, header);
    try {
      return values.add(
          region,
          keyOffset,
          keyLength,
          Payload.expiresAtMillis(kind, region, payloadOffset),
          region,
          payloadOffset + header,
          payloadLength - header,
          target,
          header);
    } catch (IOException e) {
      throw cannotWrite(e);
    }
  }

  private static StorageException cannotWrite(IOException cause) {
    return new StorageException("cannot write the values of a bulk load", cause);
  }
}
