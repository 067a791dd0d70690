package io.kvsep.internal.verify;

import io.kvsep.error.CorruptionException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;

/**
 * What does not hold. Keeps the first problems and counts the others, and remembers which parts of
 * the log are damaged, so that a pointer into them is not taken for a wrong one. Bounded, however
 * much is damaged: of too many parts in one file, the last ones count as one. Not thread safe.
 */
final class ProblemList {
  /** Problems that are kept. */
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

  /** Notes that bytes of a file of the log do not hold. */
  void damaged(String file, long from, long to) {
    NavigableMap<Long, Long> parts = damaged.computeIfAbsent(file, name -> new TreeMap<>());
    if (parts.size() < PARTS_MAX) {
      parts.merge(from, to, Math::max);
    } else {
      Map.Entry<Long, Long> last = parts.lastEntry();
      parts.put(Math.min(from, last.getKey()), Math.max(to, last.getValue()));
    }
  }

  /** Whether damage was noted at this place; parts of one file may lie in each other. */
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
