package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over index entries in internal order: keys ascending as unsigned bytes, entries of a key
 * by descending tag. Includes every version and tombstone.
 *
 * <p>Invariants:
 *
 * <ol>
 *   <li>I1: A new iterator is not valid; every seek and step sets validity.
 *   <li>I2: {@link #next} and {@link #previous} require a valid iterator. Past either end it is not
 *       valid until a seek.
 *   <li>I3: Key and payload are readable while valid, until the next seek, step or close. They may
 *       be in different regions, and in others after a step.
 * </ol>
 *
 * <p>Not thread safe. The position is in fields of {@link Position}, so that reading it costs no
 * virtual call. A damaged block raises {@link io.kvsep.error.CorruptionException}.
 */
public abstract class InternalIterator implements AutoCloseable {
  protected boolean valid;

  /** The current position; shared with the iterator that this one follows, if any. */
  protected Position here = new Position();

  /**
   * Whether the previous entry came from another source. What {@link #here} says of the previous
   * entry then does not apply.
   */
  protected boolean sourceChanged;

  public abstract void seekToFirst();

  public abstract void seekToLast();

  /** Moves to the first entry at or after ({@code key}, {@code tag}) in internal order. */
  public abstract void seek(Region key, long offset, int length, long tag);

  /** Moves to the last entry before ({@code key}, {@code tag}) in internal order. */
  public abstract void seekBefore(Region key, long offset, int length, long tag);

  public abstract void next();

  public abstract void previous();

  /**
   * The exception for an entry that is out of order: damage if it comes from a file, otherwise a
   * bug.
   */
  public RuntimeException disorder() {
    return new IllegalStateException("entries out of order");
  }

  /**
   * Reports entries that probably come next in a walk forward, starting with the current one, as
   * far as that costs next to nothing. Requires a valid iterator; does not move it.
   */
  public void foresee(PrefetchSink sink) {
    // Not every source knows.
  }

  /**
   * The available entries after the current one that a walk forward can take without further
   * checks: each directly follows the previous one, has another key, and is a value or a pointer
   * that does not expire. Their payloads are in {@link #payloadRegion}. Requires a valid iterator
   * in a walk forward; does not move it.
   *
   * @param limit exclusive upper bound of keys; null for none. Read only by {@link
   *     EntryLookahead#next}, so it may be filled after this call
   * @param sequenceMax highest sequence number of entries
   * @return null if none are available; otherwise there may still be none
   */
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    // Not every source has them.
    return null;
  }

  /**
   * Moves to the last entry seen through {@link #ahead}. No other move may come between.
   *
   * @param entry that entry
   */
  public void follow(HeapEntry entry) {
    throw new IllegalStateException("there were no entries ahead");
  }

  @Override
  public abstract void close();

  public final boolean isValid() {
    return valid;
  }

  public final Region keyRegion() {
    return here.key();
  }

  public final long keyOffset() {
    return here.keyOffset;
  }

  public final int keyLength() {
    return here.keyLength;
  }

  public final long tag() {
    return here.tag;
  }

  public final Region payloadRegion() {
    return here.payload();
  }

  public final long payloadOffset() {
    return here.payloadOffset;
  }

  public final int payloadLength() {
    return here.payloadLength;
  }

  /** Whether the next step may overwrite the payload. */
  public final boolean payloadPasses() {
    return here.payloadPasses;
  }

  /**
   * Whether the key is known, without a comparison, to differ from that of the entry before the
   * last {@link #next}. Meaningless after any other move.
   */
  public final boolean keyIsNew() {
    return !sourceChanged && here.keyIsNew;
  }

  /**
   * Number of leading bytes known to be shared with the key before the last {@link #next}; there
   * may be more. Meaningless after any other move.
   */
  public final int keyShared() {
    return sourceChanged ? 0 : here.keyShared;
  }

  /** Takes the position of {@code other}, until the next call. */
  protected final void adopt(InternalIterator other) {
    valid = true;
    sourceChanged = other.sourceChanged;
    // Rarely a change, and writing a reference costs more than reading it.
    if (here != other.here) {
      here = other.here;
    }
  }

  /** Internal order of this position relative to ({@code key}, {@code tag}). */
  protected final int compareTo(Region key, long offset, int length, long tag) {
    int order = Region.compare(here.key(), here.keyOffset, here.keyLength, key, offset, length);
    return order != 0 ? order : Long.compare(tag, here.tag);
  }

  /** Length of the common prefix of two keys. */
  protected static int commonKey(InternalIterator a, InternalIterator b) {
    Position x = a.here;
    Position y = b.here;
    return Region.commonPrefix(
        x.key(), x.keyOffset, x.keyLength, y.key(), y.keyOffset, y.keyLength);
  }

  /** Internal order of two valid positions, given {@link #commonKey}. */
  protected static int compareFrom(int common, InternalIterator a, InternalIterator b) {
    Position x = a.here;
    Position y = b.here;
    if (common < x.keyLength && common < y.keyLength) {
      return (x.key().getByte(x.keyOffset + common) & 0xff)
          - (y.key().getByte(y.keyOffset + common) & 0xff);
    }
    return x.keyLength != y.keyLength ? x.keyLength - y.keyLength : Long.compare(y.tag, x.tag);
  }

  /** Internal order of two valid positions. */
  protected static int compare(InternalIterator a, InternalIterator b) {
    return compareFrom(commonKey(a, b), a, b);
  }
}
