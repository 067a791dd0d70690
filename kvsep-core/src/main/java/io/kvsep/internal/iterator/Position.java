package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Where an {@link InternalIterator} stands. The iterator that finds the entries writes it; those
 * that walk with it refer to the same one, so that a step copies nothing from each to the next.
 * Plain fields: reading them costs no call.
 */
public final class Position {
  public @Nullable Region keyRegion;
  public long keyOffset;
  public int keyLength;
  public long tag;
  public @Nullable Region payloadRegion;
  public long payloadOffset;
  public int payloadLength;

  /** Whether the payload's bytes may be overwritten by the next step. */
  public boolean payloadPasses;

  /** Whether it is known that the entry before this one in the same source has another key. */
  public boolean keyIsNew;

  /** So many of the key's first bytes are known to be those of that entry; there may be more. */
  public int keyShared;

  /** The key, for whoever knows that there is one. */
  Region key() {
    return required(keyRegion);
  }

  /** The payload, likewise. */
  Region payload() {
    return required(payloadRegion);
  }

  /** Makes this one equal to {@code other}. */
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
