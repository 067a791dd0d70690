package io.kvsep.internal.iterator;

/**
 * Entries behind the one a source stands on that need no decision, as {@link
 * InternalIterator#ahead} gives them: going on to the next one costs a fraction of what a step
 * through all layers does. {@link #next} and {@link #copyPayload} touch nothing but the heap.
 *
 * <p>The source stays where it is meanwhile; {@link InternalIterator#follow} takes it to the last
 * entry seen. Valid until the source's next move. Not thread safe.
 */
public abstract class EntryLookahead {
  /**
   * Puts the next entry in place of the one before it.
   *
   * @param entry the last one seen, at first the one at which the source stands
   * @return whether there is one; nothing is changed if not
   */
  public abstract boolean next(HeapEntry entry);

  /** As {@link InternalIterator#foresee}, beginning with the entry seen last. */
  public abstract void foresee(HeapEntry entry, PrefetchSink sink);

  /**
   * Copies the payload of the entry seen last to the beginning of an array. In a race with another
   * thread that goes on, what is copied may be anything.
   *
   * @return its length
   * @throws IndexOutOfBoundsException if that is more than the array's, or in such a race
   */
  public abstract int copyPayload(HeapEntry entry, byte[] target);
}
