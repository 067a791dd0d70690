package io.kvsep.testing;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/** Reads tables out of the project's documents, so that tests can hold them against the code. */
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
