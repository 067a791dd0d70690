package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * The entry at which an {@link InternalIterator} stands. Written by the iterator that finds the
 * entries and shared by those that follow it, so that a step copies nothing. Lookups use it without
 * the key. Plain fields save virtual calls.
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

  /** See {@link InternalIterator#keyIsNew}; relates to the same source. */
  public boolean keyIsNew;

  /** See {@link InternalIterator#keyShared}; relates to the same source. */
  public int keyShared;

  Region key() {
    return required(keyRegion);
  }

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
