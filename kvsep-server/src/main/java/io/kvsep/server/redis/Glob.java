package io.kvsep.server.redis;

import java.util.Arrays;

/**
 * A pattern of Redis: {@code *}, {@code ?}, sets such as {@code [a-z]} and {@code [^a]}, and a
 * backslash before what stands for itself. Matching takes no more than length of pattern times
 * length of key, as only the last star is ever tried again. Immutable.
 */
final class Glob {
  private final byte[] pattern;

  Glob(byte[] pattern) {
    this.pattern = pattern;
  }

  /** What every match begins with. */
  byte[] prefix() {
    int end = 0;
    while (end < pattern.length && "*?[\\".indexOf(pattern[end]) < 0) {
      end++;
    }
    return Arrays.copyOf(pattern, end);
  }

  /**
   * What matching a key takes at most, as if so many bytes were read: its own with a short pattern.
   */
  long cost(byte[] key) {
    return key.length * (1L + pattern.length / 64);
  }

  boolean matches(byte[] key) {
    int at = 0;
    int keyAt = 0;
    int star = -1;
    int starKey = 0;
    while (keyAt < key.length) {
      if (at < pattern.length && pattern[at] == '*') {
        star = at++;
        starKey = keyAt;
        continue;
      }
      int next = at < pattern.length ? matchOne(at, key[keyAt]) : -1;
      if (next >= 0) {
        at = next;
        keyAt++;
      } else if (star >= 0) {
        at = star + 1;
        keyAt = ++starKey;
      } else {
        return false;
      }
    }
    while (at < pattern.length && pattern[at] == '*') {
      at++;
    }
    return at == pattern.length;
  }

  /** Where the pattern goes on when one byte fits what stands at an index, -1 when it does not. */
  private int matchOne(int at, byte c) {
    switch (pattern[at]) {
      case '?':
        return at + 1;
      case '[':
        return matchSet(at + 1, c);
      case '\\':
        int literal = at + 1 < pattern.length ? at + 1 : at;
        return pattern[literal] == c ? literal + 1 : -1;
      default:
        return pattern[at] == c ? at + 1 : -1;
    }
  }

  private int matchSet(int from, byte c) {
    int at = from;
    boolean not = at < pattern.length && pattern[at] == '^';
    if (not) {
      at++;
    }
    boolean found = false;
    int wanted = c & 0xff;
    while (at < pattern.length && pattern[at] != ']') {
      if (pattern[at] == '\\' && at + 1 < pattern.length) {
        found |= pattern[at + 1] == c;
        at += 2;
      } else if (at + 2 < pattern.length && pattern[at + 1] == '-') {
        int low = Math.min(pattern[at] & 0xff, pattern[at + 2] & 0xff);
        int high = Math.max(pattern[at] & 0xff, pattern[at + 2] & 0xff);
        found |= wanted >= low && wanted <= high;
        at += 3;
      } else {
        found |= pattern[at] == c;
        at++;
      }
    }
    return found == not ? -1 : Math.min(at + 1, pattern.length);
  }
}
