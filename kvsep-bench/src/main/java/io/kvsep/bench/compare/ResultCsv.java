package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Figures as a file of comma separated values, a header line first; no field needs quotes. */
final class ResultCsv {
  static final String HEADER = "round,dataset,engine,workload,metric,value,unit";
  private static final int FIELDS = 7;

  private ResultCsv() {}

  static void write(Path file, List<ResultRow> rows) {
    StringBuilder text = new StringBuilder(HEADER).append('\n');
    for (ResultRow row : rows) {
      text.append(row.round()).append(',');
      text.append(row.dataset()).append(',');
      text.append(row.engine()).append(',');
      text.append(row.workload()).append(',');
      text.append(row.metric()).append(',');
      text.append(row.value()).append(',');
      text.append(row.unit()).append('\n');
    }
    try {
      Files.writeString(file, text, UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * @throws IllegalArgumentException naming the line that cannot be understood
   */
  static List<ResultRow> read(Path file) {
    List<String> lines;
    try {
      lines = Files.readAllLines(file, UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    if (lines.isEmpty() || !lines.get(0).equals(HEADER)) {
      throw new IllegalArgumentException(file + " does not begin with " + HEADER);
    }
    List<ResultRow> rows = new ArrayList<>();
    for (int i = 1; i < lines.size(); i++) {
      String[] fields = lines.get(i).split(",", -1);
      try {
        if (fields.length != FIELDS) {
          throw new IllegalArgumentException(FIELDS + " fields are expected");
        }
        rows.add(
            new ResultRow(
                Integer.parseInt(fields[0]),
                fields[1],
                fields[2],
                fields[3],
                fields[4],
                Double.parseDouble(fields[5]),
                fields[6]));
      } catch (IllegalArgumentException e) {
        throw new IllegalArgumentException(file + ", line " + (i + 1) + ": " + e.getMessage(), e);
      }
    }
    return rows;
  }
}
