package io.kvsep.server.http;

import com.linecorp.armeria.common.HttpHeaderNames;
import com.linecorp.armeria.common.HttpHeaders;
import com.linecorp.armeria.common.HttpStatus;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * {@code If-Match} and {@code If-None-Match} of a request (RFC 9110). {@code If-Match} compares
 * tags strongly. {@code If-None-Match} also accepts weak tags, which a proxy may have made of ours.
 */
final class Preconditions {
  private static final String ANY = "*";
  private static final Preconditions NONE = new Preconditions(List.of(), List.of());

  private final List<String> match;
  private final List<String> noneMatch;

  private Preconditions(List<String> match, List<String> noneMatch) {
    this.match = match;
    this.noneMatch = noneMatch;
  }

  static Preconditions of(HttpHeaders headers) {
    if (!headers.contains(HttpHeaderNames.IF_MATCH)
        && !headers.contains(HttpHeaderNames.IF_NONE_MATCH)) {
      return NONE;
    }
    return new Preconditions(
        tags("If-Match", headers.getAll(HttpHeaderNames.IF_MATCH)),
        tags("If-None-Match", headers.getAll(HttpHeaderNames.IF_NONE_MATCH)));
  }

  boolean isEmpty() {
    return match.isEmpty() && noneMatch.isEmpty();
  }

  /** Whether success means that the key was absent. */
  boolean demandsAbsence() {
    return noneMatch.contains(ANY);
  }

  /**
   * Throws if a write must not proceed.
   *
   * @param tag tag of the entry, null if it is absent
   */
  void requireForWrite(@Nullable String tag) {
    if (!match.isEmpty() && (tag == null || !(match.contains(ANY) || match.contains(tag)))) {
      throw failed(tag);
    }
    if (tag != null && isExcluded(tag)) {
      throw failed(tag);
    }
  }

  /** Whether a read is answered with "not modified"; throws if {@code If-Match} does not hold. */
  boolean isNotModified(String tag) {
    if (!match.isEmpty() && !(match.contains(ANY) || match.contains(tag))) {
      throw failed(tag);
    }
    return isExcluded(tag);
  }

  private boolean isExcluded(String tag) {
    return noneMatch.contains(ANY) || noneMatch.contains(tag) || noneMatch.contains("W/" + tag);
  }

  private Problem failed(@Nullable String tag) {
    Problem problem =
        Problem.of(
            HttpStatus.PRECONDITION_FAILED,
            "precondition-failed",
            tag == null ? "the key is absent" : "the entry is another one");
    return tag == null ? problem : problem.header(HttpHeaderNames.ETAG, tag);
  }

  private static List<String> tags(String name, List<String> lines) {
    List<String> tags = new ArrayList<>();
    for (String line : lines) {
      int position = 0;
      while (position < line.length()) {
        char next = line.charAt(position);
        if (next == ' ' || next == '\t' || next == ',') {
          position++;
          continue;
        }
        int start = position;
        if (next == '*') {
          position++;
        } else {
          int open = line.startsWith("W/", position) ? position + 2 : position;
          int close = line.indexOf('"', open + 1);
          if (open >= line.length() || line.charAt(open) != '"' || close < 0) {
            throw Problem.malformed(name + " is neither * nor a list of tags in quotes");
          }
          position = close + 1;
        }
        tags.add(line.substring(start, position));
      }
    }
    if (!lines.isEmpty() && tags.isEmpty()) {
      throw Problem.malformed(name + " is empty");
    }
    return tags;
  }
}
