package io.kvsep.internal.memory;

import java.io.File;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.util.Arrays;

/**
 * A small text file of the kernel, read into the same memory each time: a store asks twice a second
 * for as long as it is open. Not thread safe.
 */
final class KernelFile {
  private static final int BYTES_MAX = 16 << 10;

  /** The JVM allocates memory to read more at once. */
  private static final int STEP_BYTES = 8 << 10;

  private final byte[] bytes = new byte[BYTES_MAX];
  private int length;

  /** Reads a file, of a long one the lines that fit. It counts as empty if that fails. */
  void read(File file) {
    length = 0;
    try (FileInputStream in = new FileInputStream(file)) {
      read(in);
    } catch (IOException | RuntimeException e) {
      length = 0;
    }
  }

  /** As {@link #read(File)}; after an exception, the content is undefined. */
  void read(InputStream in) throws IOException {
    length = 0;
    int count = 1;
    while (count > 0 && length < BYTES_MAX) {
      count = in.read(bytes, length, Math.min(STEP_BYTES, BYTES_MAX - length));
      length += Math.max(0, count);
    }
    // Part of a number is another number.
    while (count > 0 && length > 0 && bytes[length - 1] != '\n') {
      length--;
    }
  }

  byte[] content() {
    return Arrays.copyOf(bytes, length);
  }

  boolean hasContent(byte[] content) {
    return Arrays.equals(bytes, 0, length, content, 0, content.length);
  }

  /** The only number; {@link Long#MAX_VALUE} if there is none. */
  long number() {
    return numberAt(0);
  }

  /** The number behind a name that begins a line; {@link Long#MAX_VALUE} if there is none. */
  long field(byte[] name) {
    int line = 0;
    while (line < length) {
      int end = line + name.length;
      if (end < length
          && isBlank(bytes[end])
          && Arrays.equals(bytes, line, end, name, 0, name.length)) {
        return numberAt(end);
      }
      while (line < length && bytes[line] != '\n') {
        line++;
      }
      line++;
    }
    return Long.MAX_VALUE;
  }

  /** The n-th word, from 0, behind the last {@code mark}; {@link Long#MAX_VALUE} if no number. */
  long word(char mark, int n) {
    int at = length - 1;
    while (at >= 0 && bytes[at] != mark) {
      at--;
    }
    if (at < 0) {
      return Long.MAX_VALUE;
    }
    at++;
    for (int words = 0; words < n && at < length; words++) {
      at = afterBlanks(at);
      while (at < length && !isBlank(bytes[at])) {
        at++;
      }
    }
    return numberAt(at);
  }

  private long numberAt(int start) {
    int at = afterBlanks(start);
    int first = at;
    long number = 0;
    while (at < length && bytes[at] >= '0' && bytes[at] <= '9') {
      int digit = bytes[at] - '0';
      if (number > (Long.MAX_VALUE - digit) / 10) {
        return Long.MAX_VALUE;
      }
      number = 10 * number + digit;
      at++;
    }
    boolean isNumber = at > first && (at == length || isBlank(bytes[at]));
    return isNumber ? number : Long.MAX_VALUE;
  }

  private int afterBlanks(int start) {
    int at = start;
    while (at < length && bytes[at] != '\n' && isBlank(bytes[at])) {
      at++;
    }
    return at;
  }

  private static boolean isBlank(byte character) {
    return character == ' ' || character == '\t' || character == '\n';
  }
}
