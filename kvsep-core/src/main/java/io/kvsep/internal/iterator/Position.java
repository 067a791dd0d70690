package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * The position of an {@link InternalIterator}. Written by the iterator that finds the entries and
 * shared by those that follow it, so that a step copies nothing between them. Lookups use it for
 * the entry found, without the key. Plain fields: reading them costs no call.
 */
public class Position {
  public @Nullable Region keyRegion;
  public long keyOffset;
  public int keyLength;
  public long tag;
  public @Nullable Region payloadRegion;
  public long payloadOffset;
  public int payloadLength;

  /** Whether the next step may overwrite the payload. */
  public boolean payloadPasses;

  /** Whether the previous entry of the same source is known to have another key. */
  public boolean keyIsNew;

  /** Leading key bytes known to be shared with that entry; there may be more. */
  public int keyShared;

  /** Requires a valid position. */
  Region key() {
    return required(keyRegion);
  }

  /** Requires a valid position. */
  Region payload() {
    return required(payloadRegion);
  }

  void copy(Position other) {
    keyRegion = other.keyRegion;
    keyOffset = other.keyOffset;
    keyLength = other.keyLength;
    tag = other.tag;
    payloadRegion = other.payloadRegion;
    payloadOffset = other.payloadOffset;
    payloadLength = other.payloadLength;
    payloadPasses = other.payloadPasses;
    keyIsNew = other.keyIsNew;
    keyShared = other.keyShared;
  }

  private static Region required(@Nullable Region region) {
    if (region == null) {
      throw new IllegalStateException("the iterator is not valid");
    }
    return region;
  }
}
