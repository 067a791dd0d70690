package io.kvsep.server.redis;

import java.util.Arrays;

/**
 * A glob pattern of Redis: {@code *}, {@code ?}, sets such as {@code [a-z]} and {@code [^a]}, and a
 * backslash as escape. Used by one thread.
 *
 * <p>The parts between stars are sequences of elements that match one byte each. The first part
 * must match at the beginning of the key and the last at its end. Each other part is matched at its
 * first occurrence, which leaves most for the parts after it. The search is bit-parallel: one bit
 * for each element says whether all elements up to it match the bytes just read. A byte updates 64
 * of these bits at once, so matching never costs more than {@link #cost}.
 */
final class Glob {
  private static final int BYTE_VALUES = 256;

  private final byte[] pattern;

  /** Elements of all parts. Counting stops above the longest key, as nothing can match then. */
  private int elements;

  /** Index of the first element after each star. */
  private int[] starts = new int[4];

  private int stars;

  /** Number of words with one bit for each element. */
  private final int words;

  /**
   * For each byte, {@link #words} words with the bits of the elements that match it; created for
   * the first key.
   */
  private long[] fitting = {};

  Glob(byte[] pattern) {
    this.pattern = pattern;
    split();
    words = (elements + Long.SIZE - 1) / Long.SIZE;
  }

  private void split() {
    int at = 0;
    while (at < pattern.length && elements <= Keys.BYTES_MAX) {
      if (pattern[at] == '*') {
        addStar();
        at++;
      } else {
        elements++;
        at = behindElement(at);
      }
    }
  }

  /** Adjacent stars count as one. */
  private void addStar() {
    if (stars > 0 && starts[stars - 1] == elements) {
      return;
    }
    if (stars == starts.length) {
      starts = Arrays.copyOf(starts, 2 * stars);
    }
    starts[stars++] = elements;
  }

  private int behindElement(int at) {
    return switch (pattern[at]) {
      case '[' -> behindSet(at + 1);
      case '\\' -> Math.min(at + 2, pattern.length);
      default -> at + 1;
    };
  }

  private int behindSet(int from) {
    int at = isNegated(from) ? from + 1 : from;
    while (at < pattern.length && pattern[at] != ']') {
      at = behindMember(at);
    }
    return Math.min(at + 1, pattern.length);
  }

  private boolean isNegated(int from) {
    return from < pattern.length && pattern[from] == '^';
  }

  private int behindMember(int at) {
    if (isEscape(at)) {
      return at + 2;
    }
    return isRange(at) ? at + 3 : at + 1;
  }

  private boolean isEscape(int at) {
    return pattern[at] == '\\' && at + 1 < pattern.length;
  }

  private boolean isRange(int at) {
    return at + 2 < pattern.length && pattern[at + 1] == '-';
  }

  private void fill() {
    fitting = new long[BYTE_VALUES * words];
    long[] any = new long[words];
    int at = 0;
    for (int element = 0; element < elements; ) {
      byte c = pattern[at];
      if (c == '*') {
        at++;
        continue;
      }
      if (c == '?') {
        any[element / Long.SIZE] |= 1L << element;
      } else if (c == '[') {
        fillSet(element, at + 1);
      } else {
        fit(element, isEscape(at) ? pattern[at + 1] : c);
      }
      at = behindElement(at);
      element++;
    }
    for (int i = 0; i < fitting.length; i++) {
      fitting[i] |= any[i % words];
    }
  }

  private void fit(int element, int c) {
    fitting[(c & 0xff) * words + element / Long.SIZE] |= 1L << element;
  }

  private void fillSet(int element, int from) {
    boolean not = isNegated(from);
    boolean[] members = new boolean[BYTE_VALUES];
    for (int at = not ? from + 1 : from; at < pattern.length && pattern[at] != ']'; ) {
      if (isEscape(at)) {
        members[pattern[at + 1] & 0xff] = true;
      } else if (isRange(at)) {
        int first = pattern[at] & 0xff;
        int last = pattern[at + 2] & 0xff;
        Arrays.fill(members, Math.min(first, last), Math.max(first, last) + 1, true);
      } else {
        members[pattern[at] & 0xff] = true;
      }
      at = behindMember(at);
    }
    for (int c = 0; c < BYTE_VALUES; c++) {
      if (members[c] != not) {
        fit(element, c);
      }
    }
  }

  /** The literal prefix of every match. */
  byte[] prefix() {
    int end = 0;
    while (end < pattern.length && "*?[\\".indexOf(pattern[end]) < 0) {
      end++;
    }
    return Arrays.copyOf(pattern, end);
  }

  /** Upper bound of the cost to match a key, in bytes read: its length if the pattern is short. */
  long cost(byte[] key) {
    return key.length * (1L + elements / Long.SIZE);
  }

  boolean matches(byte[] key) {
    if (key.length < elements) {
      return false;
    }
    if (fitting.length == 0) {
      fill();
    }
    if (stars == 0) {
      return key.length == elements && fits(key, 0, 0, elements);
    }
    int lastPart = starts[stars - 1];
    int end = key.length - (elements - lastPart);
    if (!fits(key, 0, 0, starts[0]) || !fits(key, end, lastPart, elements)) {
      return false;
    }
    int at = starts[0];
    for (int i = 1; i < stars && at >= 0; i++) {
      at = behindPart(key, at, end, starts[i - 1], starts[i]);
    }
    return at >= 0;
  }

  /**
   * Whether the elements from {@code first} to before {@code behind} match the bytes from an index
   * on.
   */
  private boolean fits(byte[] key, int at, int first, int behind) {
    for (int i = first; i < behind; i++) {
      int row = (key[at + i - first] & 0xff) * words;
      if ((fitting[row + i / Long.SIZE] >>> i & 1) == 0) {
        return false;
      }
    }
    return true;
  }

  /**
   * Returns the end of the first match of a part between two indexes of the key, -1 if there is
   * none.
   */
  private int behindPart(byte[] key, int from, int to, int first, int behind) {
    int firstWord = first / Long.SIZE;
    int lastWord = (behind - 1) / Long.SIZE;
    long[] fit = new long[lastWord - firstWord + 1];
    for (int at = from; at < to; at++) {
      int row = (key[at] & 0xff) * words + firstWord;
      long carry = 1L << first;
      for (int i = 0; i < fit.length; i++) {
        long moved = fit[i] << 1 | carry;
        carry = fit[i] >>> (Long.SIZE - 1);
        fit[i] = moved & fitting[row + i];
      }
      if ((fit[fit.length - 1] >>> (behind - 1) & 1) != 0) {
        return at + 1;
      }
    }
    return -1;
  }
}
