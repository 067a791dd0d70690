package io.kvsep.internal.config;

/**
 * How much garbage the value log may hold.
 *
 * @param spaceAmplificationMax bytes of the log's files by bytes that are needed in them
 * @param slackBytes garbage that is left alone beyond that, however little is needed
 * @param outputBytesMax length of a file that a job writes
 * @param retainedBytes bytes of the newest finished segments of the log that are left as they are,
 *     whatever is in them
 * @param pendingBytes garbage that is let be for the time being, should that be more than is
 *     allowed: the longer a file waits while others overwrite it, the less of it is left to copy
 */
public record ReclaimGoal(
    double spaceAmplificationMax,
    long slackBytes,
    long outputBytesMax,
    long retainedBytes,
    long pendingBytes) {
  /**
   * Part of the allowed garbage from which on a job is due. The rest is for what nobody knows yet
   * to be garbage, for tables, and for what writers add before the job is done.
   */
  private static final double DUE = 0.4;

  /** Below this part of garbage a file is not worth copying in the background. */
  private static final double SHARE_MIN = 0.1;

  /** Below this part of garbage no job takes a file, not even when asked. */
  public static final double SHARE_MIN_ASKED = 0.03;

  /** Part of the allowed garbage that a series of jobs leaves. */
  private static final double ENOUGH = 0.3;

  /**
   * In about so many files the log lies that is retained. What is kept of a file costs something
   * with every version, and shorter ones give nothing back earlier.
   */
  private static final long RETAINED_FILES = 16;

  /** Of a log of which nothing is retained. */
  public ReclaimGoal(double spaceAmplificationMax, long slackBytes, long outputBytesMax) {
    this(spaceAmplificationMax, slackBytes, outputBytesMax, 0, 0);
  }

  /** The same with so many bytes of the log retained. */
  public ReclaimGoal retaining(long bytes) {
    return new ReclaimGoal(spaceAmplificationMax, slackBytes, outputBytesMax, bytes, pendingBytes);
  }

  /** The same with so many bytes of garbage let be for the time being. */
  public ReclaimGoal letting(long bytes) {
    return new ReclaimGoal(spaceAmplificationMax, slackBytes, outputBytesMax, retainedBytes, bytes);
  }

  /** Garbage in the active segment of the log for the sake of which it is ended. */
  public long sealBytes(long liveBytes) {
    return Math.max(dueBytes(liveBytes) / 2, retainedPart());
  }

  /** Length of a segment of which about {@link #RETAINED_FILES} are retained. */
  public long retainedPart() {
    return retainedBytes / RETAINED_FILES;
  }

  /** Garbage from which on a job is due. */
  public long dueBytes(long neededBytes) {
    return Math.max(pendingBytes, part(neededBytes, DUE));
  }

  /** Garbage there may be. */
  public long mostBytes(long neededBytes) {
    return Math.max(2 * pendingBytes, part(neededBytes, 1));
  }

  /** Garbage that is left when a job has done enough. */
  public long enoughBytes(long neededBytes) {
    return Math.max((long) (ENOUGH / DUE * pendingBytes), part(neededBytes, ENOUGH));
  }

  /**
   * Part of garbage from which on a file may be rewritten in the background. Where little garbage
   * is allowed, half of the part that it would be of all files: else it could all be in files with
   * less. Never so little that a job hardly gives anything back.
   */
  public double shareMin() {
    double allowed = (spaceAmplificationMax - 1) / spaceAmplificationMax;
    return Math.max(SHARE_MIN_ASKED, Math.min(SHARE_MIN, allowed / 2));
  }

  private long part(long neededBytes, double part) {
    return slackBytes + (long) (part * (spaceAmplificationMax - 1) * neededBytes);
  }
}
