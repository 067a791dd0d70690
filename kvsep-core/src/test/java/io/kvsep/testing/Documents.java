package io.kvsep.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Reads tables and programs out of the project's documents, so that tests can hold them against the
 * code.
 */
public final class Documents {
  private Documents() {}

  /**
   * The rows of the table whose first column has this header, without code marks.
   *
   * @param document file in {@code docs}
   */
  public static List<List<String>> rows(String document, String firstHeader) throws IOException {
    List<List<String>> rows = new ArrayList<>();
    boolean inside = false;
    for (String line : Files.readAllLines(docs().resolve(document))) {
      if (!line.startsWith("|")) {
        inside = false;
      } else if (inside && !line.startsWith("|---")) {
        rows.add(cells(line));
      } else if (cells(line).get(0).equals(firstHeader)) {
        inside = true;
      }
    }
    if (rows.isEmpty()) {
      throw new IOException(document + " has no table of " + firstHeader);
    }
    return rows;
  }

  /**
   * The paragraphs of Java programs of a document that a source file lacks. White space does not
   * count.
   *
   * @param document file in {@code docs}
   * @param source file below the project's folder
   */
  public static List<String> programsMissing(String document, String source) throws IOException {
    String text = dense(Files.readString(docs().resolveSibling(source)));
    String[] parts = Files.readString(docs().resolve(document)).split("```java\n", -1);
    if (parts.length == 1) {
      throw new IOException(document + " has no program");
    }
    return Arrays.stream(parts)
        .skip(1)
        .flatMap(part -> Arrays.stream(part.split("```", 2)[0].split("\n\n", -1)))
        .filter(program -> !text.contains(dense(program)))
        .toList();
  }

  /**
   * A file of the documents.
   *
   * @param document file in {@code docs}
   */
  public static Path file(String document) {
    return docs().resolve(document);
  }

  private static String dense(String text) {
    return text.replaceAll("\\s+", "");
  }

  /** All parts of a document that match a pattern. */
  public static Set<String> matches(String document, Pattern pattern) throws IOException {
    return pattern
        .matcher(Files.readString(docs().resolve(document)))
        .results()
        .map(MatchResult::group)
        .collect(Collectors.toCollection(TreeSet::new));
  }

  private static List<String> cells(String line) {
    return Arrays.stream(line.substring(1, line.lastIndexOf('|')).split("\\|", -1))
        .map(cell -> cell.replace("`", "").strip())
        .toList();
  }

  /** Tests run in their module's folder or in the project's. */
  private static Path docs() {
    Path beside = Path.of("docs");
    return Files.isDirectory(beside) ? beside : Path.of("..", "docs");
  }
}
