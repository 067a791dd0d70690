package io.kvsep.error;

/**
 * A change feed cannot go on: changes that it should give next are not in the log any more, because
 * space was reclaimed, or never were, because they came in a bulk load. Nothing is amiss with the
 * store. Whoever follows it starts again from a copy of what it holds.
 */
public final class ChangesLostException extends KvException {
  private static final long serialVersionUID = 1L;

  private final long position;
  private final long lost;

  public ChangesLostException(long position, long lost) {
    super(
        "changes after number "
            + position
            + " are not all in the log any more; those after "
            + lost
            + " are",
        null);
    this.position = position;
    this.lost = lost;
  }

  /** The sequence number of the last change that was given, or after which the feed began. */
  public long position() {
    return position;
  }

  /** The highest sequence number of a change that is lost: a feed may begin after it. */
  public long lostSequence() {
    return lost;
  }
}
