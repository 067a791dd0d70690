package io.kvsep.internal.repair;

import io.kvsep.internal.base.LogPosition;
import io.kvsep.internal.base.Tag;
import io.kvsep.internal.iterator.InternalIterator;
import io.kvsep.internal.iterator.Payload;
import io.kvsep.internal.iterator.ValuePointer;
import io.kvsep.internal.memory.Region;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/** Iterates over the newest version of each key of one source. */
final class Versions implements AutoCloseable {
  private final InternalIterator entries;
  private byte @Nullable [] key;
  private long sequence;
  private int kind;
  private long expiresAtMillis;
  private byte[] inline = {};
  private long segment;
  private long offset;
  private int recordLength;

  /** Takes ownership of the iterator. */
  Versions(InternalIterator entries) {
    this.entries = entries;
    entries.seekToFirst();
    advance();
  }

  /** Null at the end. */
  byte @Nullable [] key() {
    return key;
  }

  boolean isAt(byte[] other) {
    return Arrays.equals(key, other);
  }

  long sequence() {
    return sequence;
  }

  boolean isDelete() {
    return kind == Tag.DELETE;
  }

  boolean isPointer() {
    return Tag.baseKind(kind) == Tag.POINTER;
  }

  /** {@link Payload#NEVER} if it does not expire. */
  long expiresAtMillis() {
    return expiresAtMillis;
  }

  /** The value, if it is not a pointer. */
  byte[] inline() {
    return inline;
  }

  long segment() {
    return segment;
  }

  long offset() {
    return offset;
  }

  int recordLength() {
    return recordLength;
  }

  void advance() {
    if (!entries.isValid()) {
      key = null;
      return;
    }
    byte[] next = entries.keyRegion().getBytes(entries.keyOffset(), entries.keyLength());
    take();
    key = next;
    entries.next();
    while (entries.isValid()
        && entries.keyRegion().compareTo(entries.keyOffset(), entries.keyLength(), next) == 0) {
      if (isLaterTwin()) {
        take();
      }
      entries.next();
    }
  }

  /**
   * Whether the entry has the same, possibly estimated, sequence number and a later log position;
   * or its value is inline, which needs no other file. A compaction that moves inline values leaves
   * both kinds until its inputs are deleted.
   */
  private boolean isLaterTwin() {
    int otherKind = Tag.kind(entries.tag());
    if (!isPointer() || Tag.sequence(entries.tag()) != sequence) {
      return false;
    }
    if (Tag.baseKind(otherKind) != Tag.POINTER) {
      return Tag.baseKind(otherKind) == Tag.PUT;
    }
    Region payload = entries.payloadRegion();
    long at = entries.payloadOffset() + Payload.headerLength(otherKind);
    LogPosition place =
        new LogPosition(ValuePointer.segment(payload, at), ValuePointer.offset(payload, at));
    return place.compareTo(new LogPosition(segment, offset)) > 0;
  }

  private void take() {
    Region payload = entries.payloadRegion();
    long at = entries.payloadOffset();
    sequence = Tag.sequence(entries.tag());
    kind = Tag.kind(entries.tag());
    expiresAtMillis = Payload.expiresAtMillis(kind, payload, at);
    int header = Payload.headerLength(kind);
    if (isPointer()) {
      segment = ValuePointer.segment(payload, at + header);
      offset = ValuePointer.offset(payload, at + header);
      recordLength = ValuePointer.recordLength(payload, at + header);
    } else if (!isDelete()) {
      inline = payload.getBytes(at + header, entries.payloadLength() - header);
    }
  }

  @Override
  public void close() {
    entries.close();
  }
}
