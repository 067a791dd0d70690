package io.kvsep.internal.iterator;

/**
 * The entries of {@link InternalIterator#ahead}. A step costs a fraction of a step through all
 * layers. {@link #next} and {@link #copyPayload} read only the heap.
 *
 * <p>Only {@link InternalIterator#follow} moves the source. Valid until the source's next move. Not
 * thread safe.
 */
public abstract class EntryLookahead {
  /**
   * Replaces {@code entry}, the last one seen or initially the source's current one. Returns false,
   * with nothing changed, if there is no next one.
   */
  public abstract boolean next(HeapEntry entry);

  /** Like {@link InternalIterator#foresee}, from the entry seen last. */
  public abstract void foresee(PrefetchSink sink);

  /**
   * Copies the payload of the entry seen last to the start of {@code target}; returns its length.
   * In a race with a thread that moves on, copies arbitrary bytes or throws.
   *
   * @throws IndexOutOfBoundsException if the array is too short, or in such a race
   */
  public abstract int copyPayload(HeapEntry entry, byte[] target);
}
