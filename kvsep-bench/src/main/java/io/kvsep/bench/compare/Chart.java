package io.kvsep.bench.compare;

import java.util.List;
import java.util.Locale;

/** A picture of bars in groups, before it is laid out. Immutable. */
record Chart(String fileName, String title, String subtitle, List<Group> groups) {

  /** How a value is written, and whether a long bar is a good one. */
  enum Scale {
    RATE(/* lessIsBetter= */ false),
    SECONDS(true),
    BY_RAW(true);

    final boolean lessIsBetter;

    Scale(boolean lessIsBetter) {
      this.lessIsBetter = lessIsBetter;
    }

    /** Three digits that count, and the unit. */
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

  /** The bars of one workload, which have a scale of their own: the longest one is full. */
  record Group(String title, Scale scale, List<Bar> bars) {

    double largest() {
      return bars.stream().mapToDouble(Bar::value).max().orElse(0);
    }

    double best() {
      return scale.lessIsBetter ? bars.stream().mapToDouble(Bar::value).min().orElse(0) : largest();
    }
  }

  /** What one engine did. */
  record Bar(String engine, double value) {}

  /** The engines that have bars, each once, in the order of the first group that has them. */
  List<String> engines() {
    return groups.stream()
        .flatMap(group -> group.bars().stream())
        .map(Bar::engine)
        .distinct()
        .toList();
  }
}
