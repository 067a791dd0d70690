package io.kvsep.bench.compare;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Figures as comma-separated lines, which {@link Medians} reads; no field needs quotes. */
final class ResultCsv {
  private ResultCsv() {}

  static void write(Path file, List<ResultRow> rows) {
    try {
      Files.write(file, lines(rows), UTF_8);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The header first. */
  static List<String> lines(List<ResultRow> rows) {
    List<String> lines = new ArrayList<>();
    lines.add(Medians.HEADER);
    for (ResultRow row : rows) {
      lines.add(
          String.join(
              ",",
              Integer.toString(row.round()),
              row.dataset(),
              row.engine(),
              row.workload(),
              row.metric(),
              Double.toString(row.value()),
              row.unit()));
    }
    return lines;
  }
}
