package io.kvsep.bench.compare;

import java.util.List;
import java.util.Locale;

/** A bar chart in groups, before layout. Immutable. */
record Chart(String fileName, String title, String subtitle, List<Group> groups) {

  /** Format of a value, and whether longer bars are better. */
  enum Scale {
    RATE(/* lessIsBetter= */ false),
    SECONDS(true),
    BY_RAW(true);

    final boolean lessIsBetter;

    Scale(boolean lessIsBetter) {
      this.lessIsBetter = lessIsBetter;
    }

    /** Three significant digits, and the unit. */
    String label(double value) {
      return switch (this) {
        case RATE -> rate(value);
        case SECONDS -> value >= 1 ? digits(value) + " s" : digits(value * 1000) + " ms";
        case BY_RAW -> String.format(Locale.ROOT, "%.2f x", value);
      };
    }

    private static String rate(double value) {
      if (value >= 999_500) {
        return digits(value / 1e6) + " M/s";
      }
      return value >= 999.5 ? digits(value / 1e3) + " k/s" : digits(value) + " /s";
    }

    private static String digits(double value) {
      int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
      return String.format(Locale.ROOT, "%." + decimals + "f", value);
    }
  }

  /** Bars of one workload on a common scale: the longest one has full length. */
  record Group(String title, Scale scale, List<Bar> bars) {

    double largest() {
      return bars.stream().mapToDouble(Bar::value).max().orElse(0);
    }

    double best() {
      return scale.lessIsBetter ? bars.stream().mapToDouble(Bar::value).min().orElse(0) : largest();
    }
  }

  record Bar(String engine, double value) {}

  /** The engines with bars, each once, in the order of the first group that has them. */
  List<String> engines() {
    return groups.stream()
        .flatMap(group -> group.bars().stream())
        .map(Bar::engine)
        .distinct()
        .toList();
  }
}
