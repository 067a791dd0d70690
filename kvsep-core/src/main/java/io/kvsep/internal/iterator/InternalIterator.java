package io.kvsep.internal.iterator;

import io.kvsep.internal.memory.Region;
import org.jspecify.annotations.Nullable;

/**
 * Iterates over index entries in internal order: keys ascending as unsigned bytes, entries of a key
 * by descending tag. Includes all versions and tombstones.
 *
 * <p>Invariants:
 *
 * <ul>
 *   <li>I1: A new iterator is not valid; every seek and step sets validity.
 *   <li>I2: {@link #next} and {@link #previous} require validity. Past either end only a seek
 *       restores it.
 *   <li>I3: Key and payload are readable until the next seek, step or close. They may be in
 *       different regions, and each step may change these.
 * </ul>
 *
 * <p>Not thread safe. A damaged block raises {@link io.kvsep.error.CorruptionException}.
 */
public abstract class InternalIterator implements AutoCloseable {
  protected boolean valid;

  /** The current position; may be shared with the iterator that this one follows. */
  protected Position here = new Position();

  /**
   * Whether the previous entry came from another source; then {@code keyIsNew} and {@code
   * keyShared} of {@link #here} do not apply.
   */
  protected boolean sourceChanged;

  public abstract void seekToFirst();

  public abstract void seekToLast();

  /** Moves to the first entry at or after ({@code key}, {@code tag}). */
  public abstract void seek(Region key, long offset, int length, long tag);

  /** Moves to the last entry before ({@code key}, {@code tag}). */
  public abstract void seekBefore(Region key, long offset, int length, long tag);

  public abstract void next();

  public abstract void previous();

  /** The exception for an entry out of order: damage if it comes from a file, else a bug. */
  public RuntimeException disorder() {
    return new IllegalStateException("entries out of order");
  }

  /**
   * Reports entries that a walk forward probably reaches, from the current one on, as far as that
   * costs next to nothing. Requires validity; does not move.
   */
  public void foresee(PrefetchSink sink) {
    // Optional.
  }

  /**
   * Entries after the current one that a walk forward can take without further checks: each
   * directly follows the previous one, has another key, and is a value or pointer that does not
   * expire. Their payloads are in {@link #payloadRegion}. Requires validity in a walk forward; does
   * not move.
   *
   * @param limit exclusive upper bound of keys; null for none. May be filled after this call,
   *     before {@link EntryLookahead#next}
   * @return null if not available; a lookahead may be empty
   */
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    // Optional.
    return null;
  }

  /**
   * Moves to {@code entry}, the last one seen through {@link #ahead}. No other move may come
   * between.
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
   * Whether the key is known to differ from the key before the last {@link #next}. Meaningless
   * after any other move.
   */
  public final boolean keyIsNew() {
    return !sourceChanged && here.keyIsNew;
  }

  /**
   * Leading bytes known to be shared with the key before the last {@link #next}; there may be more.
   * Meaningless after any other move.
   */
  public final int keyShared() {
    return sourceChanged ? 0 : here.keyShared;
  }

  /** Shares the position of {@code other}. */
  protected final void adopt(InternalIterator other) {
    valid = true;
    sourceChanged = other.sourceChanged;
    // Writing a reference costs more than reading it.
    if (here != other.here) {
      here = other.here;
    }
  }

  /** Internal order of this position relative to ({@code key}, {@code tag}). */
  protected final int compareTo(Region key, long offset, int length, long tag) {
    int order = Region.compare(here.key(), here.keyOffset, here.keyLength, key, offset, length);
    return order != 0 ? order : Long.compare(tag, here.tag);
  }

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

  protected static int compare(InternalIterator a, InternalIterator b) {
    return compareFrom(commonKey(a, b), a, b);
  }
}
