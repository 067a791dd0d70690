package io.kvsep.server.cli;

import java.util.ArrayList;
import java.util.List;

/** Finds the words that a mistyped one may have been meant for. */
final class SimilarWords {
  private static final int SHORT_LENGTH = 3;

  private SimilarWords() {}

  /** Those with the fewest differences: at most two, and at most one from a short word. */
  static List<String> of(String word, List<String> known) {
    int fewest = word.length() <= SHORT_LENGTH ? 1 : 2;
    List<String> similar = new ArrayList<>();
    for (String candidate : known) {
      if (Math.abs(word.length() - candidate.length()) > fewest) {
        continue;
      }
      int count = differences(word, candidate);
      if (count < fewest) {
        similar.clear();
        fewest = count;
      }
      if (count == fewest) {
        similar.add(candidate);
      }
    }
    return similar;
  }

  /** Fewest letters to insert, remove, replace or swap with their neighbour. */
  private static int differences(String one, String other) {
    int[][] counts = new int[one.length() + 1][other.length() + 1];
    for (int i = 0; i <= one.length(); i++) {
      for (int j = 0; j <= other.length(); j++) {
        counts[i][j] = i == 0 || j == 0 ? i + j : least(counts, one, other, i, j);
      }
    }
    return counts[one.length()][other.length()];
  }

  private static int least(int[][] counts, String one, String other, int i, int j) {
    boolean same = one.charAt(i - 1) == other.charAt(j - 1);
    int least = counts[i - 1][j - 1] + (same ? 0 : 1);
    least = Math.min(least, 1 + Math.min(counts[i - 1][j], counts[i][j - 1]));
    boolean swapped =
        i > 1
            && j > 1
            && one.charAt(i - 1) == other.charAt(j - 2)
            && one.charAt(i - 2) == other.charAt(j - 1);
    return swapped ? Math.min(least, 1 + counts[i - 2][j - 2]) : least;
  }
}
