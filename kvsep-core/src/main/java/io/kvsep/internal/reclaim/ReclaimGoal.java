package io.kvsep.internal.reclaim;

/**
 * How much garbage the value log may hold.
 *
 * @param spaceAmplificationMax bytes of the log's files by bytes that are needed in them
 * @param slackBytes garbage that is left alone beyond that, however little is needed
 * @param outputBytesMax length of a file that a job writes
 */
public record ReclaimGoal(double spaceAmplificationMax, long slackBytes, long outputBytesMax) {
  /**
   * Part of the allowed garbage from which on a job is due. The rest is for what nobody knows yet
   * to be garbage, for tables, and for what writers add before the job is done.
   */
  private static final double DUE = 0.4;

  /** Part of the allowed garbage that a series of jobs leaves. */
  private static final double ENOUGH = 0.3;

  /** Garbage from which on a job is due. */
  public long dueBytes(long neededBytes) {
    return part(neededBytes, DUE);
  }

  /** Garbage there may be. */
  public long mostBytes(long neededBytes) {
    return part(neededBytes, 1);
  }

  /** Garbage that is left when a job has done enough. */
  long enoughBytes(long neededBytes) {
    return part(neededBytes, ENOUGH);
  }

  private long part(long neededBytes, double part) {
    return slackBytes + (long) (part * (spaceAmplificationMax - 1) * neededBytes);
  }
}
