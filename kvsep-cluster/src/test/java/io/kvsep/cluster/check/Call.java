package io.kvsep.cluster.check;

import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * One call of a client, as the client saw it. Keys and values are words without blanks; a value
 * that is null is that of an absent key.
 *
 * <p>As a line of text: client, times of invocation and return, kind, key, expected value, value
 * and outcome, with a blank between two and {@code -} for what is not there.
 *
 * @param expected what a compare-and-set asks for
 * @param value what was found by a get, and what is written by the others
 * @param invoked before the call took effect, in nanoseconds of any clock that all clients share
 * @param returned after it took effect; {@link #NEVER} with an unknown outcome
 */
record Call(
    int client,
    Kind kind,
    String key,
    @Nullable String expected,
    @Nullable String value,
    Outcome outcome,
    long invoked,
    long returned) {
  static final long NEVER = Long.MAX_VALUE;

  private static final String NONE = "-";
  private static final Pattern WORD = Pattern.compile("[^\\s-]\\S*");
  private static final Pattern BLANK = Pattern.compile(" ");

  enum Kind {
    GET,
    PUT,
    DELETE,
    CAS
  }

  enum Outcome {
    /** Took effect; a compare-and-set found what it expected. */
    DONE,
    /** A compare-and-set found something else. */
    REFUSED,
    /** May have taken effect, may still do so at any later time, or never. */
    UNKNOWN,
    /** Took no effect, and never will. */
    FAILED
  }

  Call {
    requireWord(key);
    requireWord(expected);
    requireWord(value);
    if (returned < invoked || (outcome == Outcome.UNKNOWN) != (returned == NEVER)) {
      throw new IllegalArgumentException(
          "invoked at " + invoked + ", returned at " + returned + ", " + outcome);
    }
    if (outcome == Outcome.REFUSED && kind != Kind.CAS) {
      throw new IllegalArgumentException("refused: " + kind);
    }
  }

  private static void requireWord(@Nullable String word) {
    if (word != null && !WORD.matcher(word).matches()) {
      throw new IllegalArgumentException("no word: '" + word + "'");
    }
  }

  boolean isWrite() {
    return kind != Kind.GET;
  }

  @Override
  public String toString() {
    return String.join(
        " ",
        Integer.toString(client),
        Long.toString(invoked),
        returned == NEVER ? NONE : Long.toString(returned),
        kind.name(),
        key,
        expected == null ? NONE : expected,
        value == null ? NONE : value,
        outcome.name());
  }

  /**
   * @throws IllegalArgumentException if this is not such a line
   */
  static Call parse(String line) {
    String[] words = BLANK.split(line, -1);
    if (words.length != 8) {
      throw new IllegalArgumentException("no call: '" + line + "'");
    }
    return new Call(
        Integer.parseInt(words[0]),
        Kind.valueOf(words[3]),
        words[4],
        words[5].equals(NONE) ? null : words[5],
        words[6].equals(NONE) ? null : words[6],
        Outcome.valueOf(words[7]),
        Long.parseLong(words[1]),
        words[2].equals(NONE) ? NEVER : Long.parseLong(words[2]));
  }
}
