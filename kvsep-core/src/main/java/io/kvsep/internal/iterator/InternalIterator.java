package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Walks index entries in internal order: keys ascending as unsigned bytes, entries of one key by
 * descending tag. Every version and every tombstone is seen.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>A new iterator is not valid; every seek and step decides validity anew.
 *   <li>{@link #next} and {@link #previous} may be called only while valid. Past either end the
 *       iterator is not valid, and only a seek makes it valid again.
 *   <li>Key and payload are readable while valid and until the next seek, step or close. They may
 *       lie in different regions, and in other ones after a step.
 * </ol>
 *
 * Not thread safe. Position is kept in fields of this class, so that reading it costs no virtual
 * call. A damaged block raises {@link io.kvsep.error.CorruptionException}.
 */
public abstract class InternalIterator implements AutoCloseable {
  protected boolean valid;
  protected @Nullable Region keyRegion;
  protected long keyOffset;
  protected int keyLength;
  protected long tag;
  protected @Nullable Region payloadRegion;
  protected long payloadOffset;
  protected int payloadLength;

  /** Whether the payload's bytes may be overwritten by the next step. */
  protected boolean payloadPasses;

  /** Whether it is known that the entry before this one, in the same source, has another key. */
  protected boolean keyIsNew;

  public abstract void seekToFirst();

  public abstract void seekToLast();

  /** To the first entry at or after ({@code key}, {@code tag}) in internal order. */
  public abstract void seek(Region key, long offset, int length, long tag);

  /** To the last entry before ({@code key}, {@code tag}) in internal order. */
  public abstract void seekBefore(Region key, long offset, int length, long tag);

  public abstract void next();

  public abstract void previous();

  /**
   * Tells which entries probably come next, walking forward, as far as that costs next to nothing;
   * begins with the current one. What was told in an earlier call and is still to come is not told
   * again. Only while valid; moves nothing.
   */
  public void foresee(Foreseen sink) {
    // Not every source knows.
  }

  @Override
  public abstract void close();

  public final boolean isValid() {
    return valid;
  }

  public final Region keyRegion() {
    return required(keyRegion);
  }

  public final long keyOffset() {
    return keyOffset;
  }

  public final int keyLength() {
    return keyLength;
  }

  public final long tag() {
    return tag;
  }

  public final Region payloadRegion() {
    return required(payloadRegion);
  }

  public final long payloadOffset() {
    return payloadOffset;
  }

  public final int payloadLength() {
    return payloadLength;
  }

  /** Whether the payload's bytes may be overwritten by the next step. */
  public final boolean payloadPasses() {
    return payloadPasses;
  }

  /**
   * Whether it is known, without a comparison, that the key is not that of the entry from which the
   * last {@link #next} came.
   */
  public final boolean keyIsNew() {
    return keyIsNew;
  }

  /** Takes over the position of {@code other}. */
  protected final void adopt(InternalIterator other) {
    valid = true;
    keyRegion = other.keyRegion;
    keyOffset = other.keyOffset;
    keyLength = other.keyLength;
    tag = other.tag;
    payloadRegion = other.payloadRegion;
    payloadOffset = other.payloadOffset;
    payloadLength = other.payloadLength;
    payloadPasses = other.payloadPasses;
    keyIsNew = other.keyIsNew;
  }

  /** Internal order of this position against ({@code key}, {@code tag}). */
  protected final int compareTo(Region key, long offset, int length, long otherTag) {
    int order = Region.compare(required(keyRegion), keyOffset, keyLength, key, offset, length);
    return order != 0 ? order : Long.compare(otherTag, tag);
  }

  /** Internal order of two valid positions. */
  protected static int compare(InternalIterator a, InternalIterator b) {
    return a.compareTo(required(b.keyRegion), b.keyOffset, b.keyLength, b.tag);
  }

  private static Region required(@Nullable Region region) {
    if (region == null) {
      throw new IllegalStateException("the iterator is not valid");
    }
    return region;
  }
}
