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
 * Not thread safe. Where it stands is kept in fields of {@link Position}, so that reading it costs
 * no virtual call. A damaged block raises {@link io.kvsep.error.CorruptionException}.
 */
public abstract class InternalIterator implements AutoCloseable {
  protected boolean valid;

  /** Where this stands; that of another iterator where it walks with that one. */
  protected Position here = new Position();

  /**
   * Whether the entry before this one came from another source: what {@link #here} knows of the
   * entry before is not about that one then.
   */
  protected boolean sourceChanged;

  public abstract void seekToFirst();

  public abstract void seekToLast();

  /** To the first entry at or after ({@code key}, {@code tag}) in internal order. */
  public abstract void seek(Region key, long offset, int length, long tag);

  /** To the last entry before ({@code key}, {@code tag}) in internal order. */
  public abstract void seekBefore(Region key, long offset, int length, long tag);

  public abstract void next();

  public abstract void previous();

  /**
   * What to throw where the entry it stands on cannot come behind the ones before: of an iterator
   * over a file damage there, else a mistake of ours.
   */
  public RuntimeException disorder() {
    return new IllegalStateException("entries out of order");
  }

  /**
   * Tells which entries probably come next, walking forward, as far as that costs next to nothing;
   * begins with the current one. What was told in an earlier call and is still to come is not told
   * again. Only while valid; moves nothing.
   */
  public void foresee(PrefetchSink sink) {
    // Not every source knows.
  }

  /**
   * The entries behind the current one that need no decision of whoever walks forward, as far as
   * they are at hand: of each it is known that it comes next, that its key is another one than that
   * before it, and that it is a value, or a pointer to one, that does not expire. Their payloads
   * lie in {@link #payloadRegion}. Only while valid, in a walk forward; moves nothing.
   *
   * @param limit only keys below this; null for all; read by {@link EntryLookahead#next} and not
   *     before, so that it may be filled after this call
   * @param sequenceMax only entries of this number or a lower one
   * @return null if there are none at hand; there may be none where this is not null
   */
  public @Nullable EntryLookahead ahead(@Nullable KeyLimit limit, long sequenceMax) {
    // Not every source has them.
    return null;
  }

  /**
   * Goes on to where the entries of the last {@link #ahead} have led, and no other move has since.
   *
   * @param entry the one of them seen last
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

  /** Whether the payload's bytes may be overwritten by the next step. */
  public final boolean payloadPasses() {
    return here.payloadPasses;
  }

  /**
   * Whether it is known, without a comparison, that the key is not that of the entry from which the
   * last {@link #next} came. Says nothing after any other move.
   */
  public final boolean keyIsNew() {
    return !sourceChanged && here.keyIsNew;
  }

  /**
   * How many of the key's first bytes are known to be those of the entry from which the last {@link
   * #next} came; there may be more. Says nothing after any other move.
   */
  public final int keyShared() {
    return sourceChanged ? 0 : here.keyShared;
  }

  /** Stands where {@code other} does, until the next call. */
  protected final void adopt(InternalIterator other) {
    valid = true;
    sourceChanged = other.sourceChanged;
    // It seldom is another one, and writing a reference costs more than looking at it.
    if (here != other.here) {
      here = other.here;
    }
  }

  /** Internal order of this position against ({@code key}, {@code tag}). */
  protected final int compareTo(Region key, long offset, int length, long tag) {
    int order = Region.compare(here.key(), here.keyOffset, here.keyLength, key, offset, length);
    return order != 0 ? order : Long.compare(tag, here.tag);
  }

  /** How many bytes the keys of two valid positions begin with in common. */
  protected static int commonKey(InternalIterator a, InternalIterator b) {
    Position x = a.here;
    Position y = b.here;
    return Region.commonPrefix(
        x.key(), x.keyOffset, x.keyLength, y.key(), y.keyOffset, y.keyLength);
  }

  /** Internal order of two valid positions of which {@link #commonKey} is known. */
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
