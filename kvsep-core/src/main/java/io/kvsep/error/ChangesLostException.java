package io.kvsep.error;

/**
 * A change feed cannot continue: reclaim removed its next changes from the log, or a bulk load made
 * them without the log. The store is not affected. A follower restarts from a copy of the store.
 */
public final class ChangesLostException extends KvException {
  private static final long serialVersionUID = 1L;

  /** Sequence number after which the feed reads. */
  private final long position;

  /** Sequence number of the last lost change. */
  private final long lost;

  /**
   * Creates the exception.
   *
   * @param position sequence number after which the feed reads
   * @param lost sequence number of the last lost change
   */
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

  /** {@return sequence number of the last change returned, or after which the feed began} */
  public long position() {
    return position;
  }

  /** {@return highest sequence number of a lost change; a new feed may begin after it} */
  public long lostSequence() {
    return lost;
  }
}
