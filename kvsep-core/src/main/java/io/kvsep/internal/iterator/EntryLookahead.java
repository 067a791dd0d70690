package io.kvsep.internal.iterator;

/**
 * Entries after the current one of a source that need no further checks, from {@link
 * InternalIterator#ahead}. Stepping through them costs a fraction of a step through all layers.
 * {@link #next} and {@link #copyPayload} read only the heap.
 *
 * <p>The source does not move; {@link InternalIterator#follow} moves it to the last entry seen.
 * Valid until the source's next move. Not thread safe.
 */
public abstract class EntryLookahead {
  /**
   * Replaces {@code entry} by the next one.
   *
   * @param entry the last one seen, initially the current entry of the source
   * @return false, with nothing changed, if there is none
   */
  public abstract boolean next(HeapEntry entry);

  /** As {@link InternalIterator#foresee}, starting with the entry seen last. */
  public abstract void foresee(PrefetchSink sink);

  /**
   * Copies the payload of the entry seen last to the start of an array. Copies arbitrary bytes in a
   * race with a thread that moves on.
   *
   * @return its length
   * @throws IndexOutOfBoundsException if the array is too short, or in such a race
   */
  public abstract int copyPayload(HeapEntry entry, byte[] target);
}
