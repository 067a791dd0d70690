package io.kvsep.server.cli;

import org.jspecify.annotations.Nullable;

/** Counts skipped items and remembers the first with its reason. */
final class Skipped {
  /** Most skipped items that get a line of their own; further ones are only counted. */
  private static final int TOLD_MAX = 20;

  private long count;
  private @Nullable String first;

  void add(String what, String why) {
    count++;
    if (first == null) {
      first = what + ": " + why;
    }
  }

  /** As {@link #add}, with a line on standard error. */
  void addAndTell(String what, String why, Streams streams) {
    add(what, why);
    if (count <= TOLD_MAX) {
      streams.warn(what + ": " + why);
    }
  }

  long count() {
    return count;
  }

  /** Throws if anything was skipped: the rest is done, but not everything that was asked for. */
  void requireNone(String noun, String participle) {
    if (first != null) {
      throw CommandFailure.failed(
          Amounts.of(count, noun)
              + (count == 1
                  ? " was not " + participle + ": "
                  : " were not " + participle + ", the first: ")
              + first);
    }
  }
}
