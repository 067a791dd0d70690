package io.kvsep.bench.compare;

import io.kvsep.bench.FailedMeasurementException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalDouble;

/**
 * Figures of a comparison, each the median of its rounds. With an even number of rounds it is the
 * lower middle value, so that it is a measured one. Immutable.
 */
final class Medians {
  static final String HEADER = "round,dataset,engine,workload,metric,value,unit";

  private static final int COLUMNS = 7;

  private final Map<Figure, Double> values;

  /** What a value belongs to. */
  private record Figure(String dataset, String engine, String workload, String metric) {}

  private Medians(Map<Figure, Double> values) {
    this.values = values;
  }

  static Medians read(Path csv) {
    try {
      return parse(csv.toString(), Files.readAllLines(csv, StandardCharsets.UTF_8));
    } catch (NoSuchFileException e) {
      throw new FailedMeasurementException("there is no file " + csv);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Parses the lines of a CSV file, the header first; {@code name} is used in messages. */
  static Medians parse(String name, List<String> lines) {
    if (lines.isEmpty() || !lines.get(0).equals(HEADER)) {
      throw new FailedMeasurementException(name + " does not start with the line " + HEADER);
    }
    Map<Figure, List<Double>> rounds = new LinkedHashMap<>();
    for (int i = 1; i < lines.size(); i++) {
      if (!lines.get(i).isEmpty()) {
        add(name + ", line " + (i + 1) + ": ", lines.get(i), rounds);
      }
    }
    if (rounds.isEmpty()) {
      throw new FailedMeasurementException(name + " has no figures, only a header");
    }
    Map<Figure, Double> medians = new LinkedHashMap<>();
    rounds.forEach((figure, values) -> medians.put(figure, median(values)));
    return new Medians(medians);
  }

  private static void add(String place, String line, Map<Figure, List<Double>> rounds) {
    String[] words = line.split(",", -1);
    if (words.length != COLUMNS) {
      throw new FailedMeasurementException(
          place + words.length + " columns instead of " + COLUMNS + ": " + line);
    }
    double value;
    try {
      value = Double.parseDouble(words[5]);
    } catch (NumberFormatException e) {
      throw new FailedMeasurementException(place + "not a number: " + words[5]);
    }
    if (!(value >= 0) || Double.isInfinite(value)) {
      throw new FailedMeasurementException(place + "not a figure: " + words[5]);
    }
    Figure figure = new Figure(words[1], words[2], words[3], words[4]);
    rounds.computeIfAbsent(figure, absent -> new ArrayList<>()).add(value);
  }

  private static double median(List<Double> values) {
    List<Double> sorted = new ArrayList<>(values);
    Collections.sort(sorted);
    return sorted.get((sorted.size() - 1) / 2);
  }

  /** In the order of their first occurrence in the file. */
  List<String> datasets() {
    return values.keySet().stream().map(Figure::dataset).distinct().toList();
  }

  List<String> engines() {
    return values.keySet().stream().map(Figure::engine).distinct().toList();
  }

  OptionalDouble value(String dataset, String engine, String workload, String metric) {
    Double value = values.get(new Figure(dataset, engine, workload, metric));
    return value == null ? OptionalDouble.empty() : OptionalDouble.of(value);
  }
}
