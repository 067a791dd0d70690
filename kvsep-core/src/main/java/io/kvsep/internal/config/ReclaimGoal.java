package io.kvsep.internal.config;

/**
 * Limits of garbage in the value log.
 *
 * @param spaceAmplificationMax log file bytes per needed byte
 * @param slackBytes additional garbage tolerated
 * @param outputBytesMax length of a file written by a job
 * @param retainedBytes bytes of the newest finished segments, which are never rewritten
 * @param pendingBytes garbage tolerated for now if above the limit: while values are overwritten,
 *     waiting leaves less to copy
 */
public record ReclaimGoal(
    double spaceAmplificationMax,
    long slackBytes,
    long outputBytesMax,
    long retainedBytes,
    long pendingBytes) {
  /**
   * Part of the allowed garbage at which a job is due. The rest is for unknown garbage, tables and
   * writes during the job.
   */
  private static final double DUE = 0.4;

  /** Part of garbage from which a file is worth copying in the background. */
  private static final double SHARE_MIN = 0.1;

  /** Least part of garbage in a file that any job rewrites. */
  public static final double SHARE_MIN_ASKED = 0.03;

  /** Part of the allowed garbage that a series of jobs leaves. */
  private static final double ENOUGH = 0.3;

  /**
   * Approximate number of retained segments. Each has a cost per version; shorter ones free nothing
   * earlier.
   */
  private static final long RETAINED_FILES = 16;

  public ReclaimGoal(double spaceAmplificationMax, long slackBytes, long outputBytesMax) {
    this(spaceAmplificationMax, slackBytes, outputBytesMax, 0, 0);
  }

  public ReclaimGoal retaining(long bytes) {
    return new ReclaimGoal(spaceAmplificationMax, slackBytes, outputBytesMax, bytes, pendingBytes);
  }

  public ReclaimGoal letting(long bytes) {
    return new ReclaimGoal(spaceAmplificationMax, slackBytes, outputBytesMax, retainedBytes, bytes);
  }

  /** Garbage in the active segment at which it is ended. */
  public long sealBytes(long liveBytes) {
    return Math.max(dueBytes(liveBytes) / 2, retainedPart());
  }

  /** Length of each of about {@link #RETAINED_FILES} retained segments. */
  public long retainedPart() {
    return retainedBytes / RETAINED_FILES;
  }

  /** Garbage at which a job is due. */
  public long dueBytes(long neededBytes) {
    return Math.max(pendingBytes, part(neededBytes, DUE));
  }

  /** Most garbage allowed. */
  public long mostBytes(long neededBytes) {
    return Math.max(2 * pendingBytes, part(neededBytes, 1));
  }

  /** Garbage at which a series of jobs ends. */
  public long enoughBytes(long neededBytes) {
    return Math.max((long) (ENOUGH / DUE * pendingBytes), part(neededBytes, ENOUGH));
  }

  /**
   * Minimum part of garbage in a file rewritten in the background. If little garbage is allowed,
   * half of the allowed average: otherwise all garbage could be in files below the limit. Never so
   * low that a job frees almost nothing.
   */
  public double shareMin() {
    double allowed = (spaceAmplificationMax - 1) / spaceAmplificationMax;
    return Math.max(SHARE_MIN_ASKED, Math.min(SHARE_MIN, allowed / 2));
  }

  private long part(long neededBytes, double part) {
    return slackBytes + (long) (part * (spaceAmplificationMax - 1) * neededBytes);
  }
}
