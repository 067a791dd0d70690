package io.kvsep.bench;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;

/**
 * A point at which a store can be stopped: the n-th time that it does a step on a file of some
 * kind, just before or after the step. As text: {@code before:sync:manifest:3}.
 */
record StopPoint(boolean after, Step step, Target target, int nth) {
  /** A step done to a file. */
  enum Step {
    CREATE,
    WRITE,
    SYNC,
    TRUNCATE,
    RENAME,
    DELETE,
    SYNC_DIRECTORY
  }

  enum Target {
    CURRENT,
    MANIFEST,
    SEGMENT,
    RELOCATED,
    TABLE,
    /** All others, and the directory. */
    OTHER
  }

  /** Every point that a store reaches within a second or two, and how often. */
  static final List<StopPoint> REACHED =
      List.of(
          new StopPoint(false, Step.CREATE, Target.MANIFEST, 1),
          new StopPoint(false, Step.WRITE, Target.MANIFEST, 20),
          new StopPoint(false, Step.SYNC, Target.MANIFEST, 20),
          new StopPoint(false, Step.DELETE, Target.MANIFEST, 1),
          new StopPoint(false, Step.RENAME, Target.CURRENT, 1),
          new StopPoint(false, Step.WRITE, Target.CURRENT, 1),
          new StopPoint(false, Step.SYNC, Target.CURRENT, 1),
          new StopPoint(false, Step.CREATE, Target.SEGMENT, 3),
          new StopPoint(false, Step.WRITE, Target.SEGMENT, 200),
          new StopPoint(false, Step.SYNC, Target.SEGMENT, 60),
          new StopPoint(false, Step.RENAME, Target.SEGMENT, 1),
          new StopPoint(false, Step.DELETE, Target.SEGMENT, 3),
          new StopPoint(false, Step.WRITE, Target.RELOCATED, 6),
          new StopPoint(false, Step.SYNC, Target.RELOCATED, 3),
          new StopPoint(false, Step.DELETE, Target.RELOCATED, 2),
          new StopPoint(false, Step.CREATE, Target.TABLE, 8),
          new StopPoint(false, Step.WRITE, Target.TABLE, 8),
          new StopPoint(false, Step.SYNC, Target.TABLE, 8),
          new StopPoint(false, Step.DELETE, Target.TABLE, 8),
          new StopPoint(false, Step.SYNC_DIRECTORY, Target.OTHER, 20));

  static StopPoint parse(String text) {
    String[] parts = text.split(":", -1);
    if (parts.length != 4 || !Arrays.asList("before", "after").contains(parts[0])) {
      throw new UsageException("no stop point: " + text);
    }
    return new StopPoint(
        parts[0].equals("after"),
        Step.valueOf(parts[1].toUpperCase(Locale.ROOT)),
        Target.valueOf(parts[2].toUpperCase(Locale.ROOT)),
        Integer.parseInt(parts[3]));
  }

  /** The point without its number. */
  String place() {
    String name = step.name().toLowerCase(Locale.ROOT);
    return step == Step.SYNC_DIRECTORY
        ? name
        : name + " of " + target.name().toLowerCase(Locale.ROOT);
  }

  @Override
  public String toString() {
    return (after ? "after:" : "before:")
        + step.name().toLowerCase(Locale.ROOT)
        + ":"
        + target.name().toLowerCase(Locale.ROOT)
        + ":"
        + nth;
  }
}
