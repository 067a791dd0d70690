package io.kvsep.bench.compare;

import io.kvsep.bench.FailedMeasurementException;
import io.kvsep.bench.compare.Chart.Bar;
import io.kvsep.bench.compare.Chart.Group;
import io.kvsep.bench.compare.Chart.Scale;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalDouble;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;

/**
 * Charts of a comparison: for each data set one with a group of bars for every workload, and one of
 * the disk space of all stores.
 */
final class Charts {
  private static final String HOW_TO_READ =
      "Medians of all rounds. In each panel the longest bar is full and the best value bold.";
  private static final Pattern NOT_PLAIN = Pattern.compile("[^A-Za-z0-9.-]");
  private static final String LOAD = "load";
  private static final String OVERWRITE = "overwrite";
  private static final String RATE = "rate";
  private static final String DISK = "disk_by_raw";

  private static final List<Shown> SHOWN = shown();

  private record Shown(String title, String workload, String metric, Scale scale) {}

  private Charts() {}

  private static List<Shown> shown() {
    List<Shown> all = new ArrayList<>();
    all.add(new Shown("Load, until written", LOAD, "until_written", Scale.RATE));
    all.add(new Shown("Load, until closed", LOAD, "until_closed", Scale.RATE));
    for (Rest rest : Rest.values()) {
      String when = rest == Rest.NONE ? "" : ", " + rest.word;
      all.add(new Shown("Open" + when, "open" + rest.suffix, "seconds", Scale.SECONDS));
      Map<String, String> reads = new LinkedHashMap<>();
      reads.put("get", "Random get, fresh array");
      reads.put("get_reused", "Random get, reused array");
      reads.put("get1", "Random get, one thread");
      reads.put("get_view", "Random get, value viewed");
      reads.put("miss", "Random get, absent keys");
      reads.put("iterate", "Iterate, keys and values");
      reads.put("keys", "Iterate, keys alone");
      reads.forEach(
          (workload, title) ->
              all.add(new Shown(title + when, workload + rest.suffix, RATE, Scale.RATE)));
    }
    all.add(new Shown("Single puts, not synced", "single", RATE, Scale.RATE));
    all.add(new Shown("Single puts, synced", "single_sync", RATE, Scale.RATE));
    all.add(new Shown("Overwrite", OVERWRITE, RATE, Scale.RATE));
    all.add(new Shown("Overwrite, until closed", OVERWRITE, "until_closed", Scale.RATE));
    all.add(new Shown("Overwrite, on disk / raw", OVERWRITE, DISK, Scale.BY_RAW));
    all.add(new Shown("Overwrite, written / raw", OVERWRITE, "written_by_raw", Scale.BY_RAW));
    all.add(new Shown("Steady overwrite", "steady", RATE, Scale.RATE));
    all.add(new Shown("Steady, slowest 10 s", "steady", "rate_slowest", Scale.RATE));
    all.add(new Shown("Steady, most on disk / raw", "steady", "disk_by_raw_most", Scale.BY_RAW));
    all.add(new Shown("Fresh process, first get", Workload.COLD, "first_get", Scale.SECONDS));
    all.add(new Shown("Fresh process, gets", Workload.COLD, RATE, Scale.RATE));
    Mix.ALL.forEach(mix -> all.add(new Shown(mix.title(), mix.name(), RATE, Scale.RATE)));
    return all;
  }

  /**
   * Draws each chart of {@code csv} as SVG and PNG into {@code directory}, which is created if
   * missing. Replaces files of the same names.
   *
   * @return the files written
   */
  static List<Path> write(Path csv, Path directory) {
    List<Path> files = new ArrayList<>();
    try {
      List<Chart> charts = of(Medians.read(csv));
      if (charts.isEmpty()) {
        throw new FailedMeasurementException(csv + " has no figure that a chart shows");
      }
      Files.createDirectories(directory);
      for (Chart chart : charts) {
        files.addAll(write(chart, directory));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return files;
  }

  private static List<Path> write(Chart chart, Path directory) throws IOException {
    ChartLayout layout = new ChartLayout(chart);
    SvgCanvas svg = new SvgCanvas(layout.width(), layout.height());
    layout.draw(svg);
    Path svgFile = directory.resolve(chart.fileName() + ".svg");
    Files.writeString(svgFile, svg.toString(), StandardCharsets.UTF_8);
    Path pngFile = directory.resolve(chart.fileName() + ".png");
    try (ImageCanvas canvas = new ImageCanvas(layout.width(), layout.height())) {
      layout.draw(canvas);
      ImageIO.write(canvas.image(), "png", pngFile.toFile());
    }
    return List.of(svgFile, pngFile);
  }

  /** Returns the charts that have bars. */
  static List<Chart> of(Medians medians) {
    List<Chart> charts = new ArrayList<>();
    for (String dataset : medians.datasets()) {
      List<Group> groups = new ArrayList<>();
      for (Shown shown : SHOWN) {
        addGroup(medians, dataset, shown, shown.title(), groups);
      }
      if (!groups.isEmpty()) {
        charts.add(
            new Chart(
                "data-" + fileName(dataset), "Values: " + name(dataset), HOW_TO_READ, groups));
      }
    }
    List<Group> sizes = new ArrayList<>();
    for (String workload : List.of(LOAD, OVERWRITE)) {
      Shown shown = new Shown(workload, workload, DISK, Scale.BY_RAW);
      for (String dataset : medians.datasets()) {
        addGroup(medians, dataset, shown, name(dataset) + ", after " + workload, sizes);
      }
    }
    if (!sizes.isEmpty()) {
      String subtitle = "Allocated bytes by the bytes of all keys and values; less is better.";
      charts.add(new Chart("disk", "Size on disk", subtitle, sizes));
    }
    return charts;
  }

  private static void addGroup(
      Medians medians, String dataset, Shown shown, String title, List<Group> groups) {
    List<Bar> bars = new ArrayList<>();
    for (String engine : medians.engines().stream().sorted(Palette.order()).toList()) {
      OptionalDouble value = medians.value(dataset, engine, shown.workload(), shown.metric());
      if (value.isPresent()) {
        bars.add(new Bar(engine, value.getAsDouble()));
      }
    }
    if (!bars.isEmpty()) {
      groups.add(new Group(title, shown.scale(), bars));
    }
  }

  /** Data sets are named by the length of their values, if all have the same. */
  private static String name(String dataset) {
    if (!dataset.matches("[0-9]{1,9}")) {
      return dataset;
    }
    int bytes = Integer.parseInt(dataset);
    return bytes >= 1024 && bytes % 1024 == 0 ? bytes / 1024 + " KiB" : bytes + " bytes";
  }

  /** Different names have different files: only a slash becomes an underscore. */
  private static String fileName(String dataset) {
    return NOT_PLAIN
        .matcher(dataset)
        .replaceAll(
            found ->
                found.group().equals("/")
                    ? "_"
                    : String.format(Locale.ROOT, "=%06x", found.group().codePointAt(0)));
  }
}
