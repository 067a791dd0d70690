package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpStatus;
import com.linecorp.armeria.common.RequestHeaders;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * The part of a value that the {@code Range} of a {@code GET} asks for (RFC 9110).
 *
 * @param first index of the first byte
 * @param count number of bytes, at least 1
 * @param of length of the whole value
 */
record ByteRange(int first, int count, int of) {
  /** Eighteen digits fit into a long; no value has that many bytes. */
  private static final Pattern BYTES =
      Pattern.compile("bytes=[ \t]*(\\d{0,18})-(\\d{0,18})[ \t]*", Pattern.CASE_INSENSITIVE);

  /**
   * Null if the whole value is the answer: without {@code Range}, if it is malformed, has another
   * unit or several parts, or if {@code If-Range} names another version.
   *
   * @throws Problem 416 if the value has no byte in the range
   */
  static @Nullable ByteRange of(RequestHeaders headers, String tag, int length) {
    String text = headers.get(HttpHeaderNames.RANGE);
    if (text == null) {
      return null;
    }
    String version = headers.get(HttpHeaderNames.IF_RANGE);
    if (version != null && !version.strip().equals(tag)) {
      return null;
    }
    Matcher range = BYTES.matcher(text);
    if (!range.matches()) {
      return null;
    }
    String from = range.group(1);
    String to = range.group(2);
    if (from.isEmpty()) {
      return to.isEmpty() ? null : last(Long.parseLong(to), length);
    }
    long first = Long.parseLong(from);
    long last = to.isEmpty() ? Long.MAX_VALUE : Long.parseLong(to);
    if (last < first) {
      return null;
    }
    if (first >= length) {
      throw unsatisfiable(length);
    }
    return new ByteRange((int) first, (int) (Math.min(last, length - 1) - first + 1), length);
  }

  private static ByteRange last(long wanted, int length) {
    int count = (int) Math.min(wanted, length);
    if (count == 0) {
      throw unsatisfiable(length);
    }
    return new ByteRange(length - count, count, length);
  }

  private static Problem unsatisfiable(int length) {
    return Problem.of(
            HttpStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
            "range-not-satisfiable",
            "the range has no byte of the value, which has " + length + " bytes")
        .header(HttpHeaderNames.CONTENT_RANGE, "bytes */" + length);
  }

  /** The form of {@code Content-Range}. */
  @Override
  public String toString() {
    return "bytes " + first + '-' + (first + count - 1) + '/' + of;
  }
}
