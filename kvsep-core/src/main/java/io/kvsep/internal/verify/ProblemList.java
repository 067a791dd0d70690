package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * Keeps the first problems and counts the rest. Records damaged parts of log files, so that a
 * pointer into one is not reported as wrong. Memory is bounded: if a file has too many parts, the
 * last ones are merged. Not thread safe.
 */
final class ProblemList {
  static final int PROBLEMS_MAX = 1000;

  private static final int PARTS_MAX = 10_000;

  private final List<CorruptionException> problems = new ArrayList<>();
  private final Map<String, NavigableMap<Long, Long>> damaged = new HashMap<>();
  private long problemCount;

  void add(CorruptionException problem) {
    problemCount++;
    if (problems.size() < PROBLEMS_MAX) {
      problems.add(problem);
    }
  }

  void damaged(String file, long from, long to) {
    NavigableMap<Long, Long> parts = damaged.computeIfAbsent(file, name -> new TreeMap<>());
    if (parts.size() < PARTS_MAX) {
      parts.merge(from, to, Math::max);
    } else {
      Map.Entry<Long, Long> last = parts.lastEntry();
      parts.put(Math.min(from, last.getKey()), Math.max(to, last.getValue()));
    }
  }

  /** Parts of a file may be nested. */
  boolean isDamaged(String file, long offset) {
    NavigableMap<Long, Long> parts = damaged.get(file);
    return parts != null
        && parts.headMap(offset, true).values().stream().anyMatch(to -> to > offset);
  }

  List<CorruptionException> problems() {
    return List.copyOf(problems);
  }

  long problemCount() {
    return problemCount;
  }
}
