package io.kvsep.server;

import org.jspecify.annotations.Nullable;

/** Counts what was left out and remembers why it was the first time. */
final class Skipped {
  private long count;
  private @Nullable String first;

  void add(String what, String why) {
    count++;
    if (first == null) {
      first = what + ": " + why;
    }
  }

  long count() {
    return count;
  }

  /** Fails when there was something: the rest was done, but not all that was asked for. */
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
