package io.kvsep.bench.compare;

import java.util.Comparator;
import java.util.List;

/**
 * Colours of the engines as {@code 0xrrggbb}. An engine has the same colour in every chart, and the
 * order of engines is fixed.
 */
final class Palette {
  static final int PAPER = 0xffffff;
  static final int PANEL = 0xf6f7f9;
  static final int INK = 0x1f2933;
  static final int FAINT_INK = 0x5f6b7a;
  static final int TRACK = 0xe6e9ee;

  private static final List<String> KNOWN =
      List.of(
          "kvsep",
          "kvsep-unverified",
          "rocksdb",
          "rocksdb-blob",
          "lmdb",
          "mvstore",
          "xodus",
          "badger",
          "bbolt");

  private static final int[] COLOURS = {
    0xc2410c, 0xfb923c, 0x1d4ed8, 0x60a5fa, 0x15803d, 0xca8a04, 0x7e22ce, 0x0e7490, 0x64748b
  };

  /** Colours of other engines, by their name. */
  private static final int[] OTHERS = {0xbe185d, 0x4d7c0f, 0x78350f, 0x334155};

  private Palette() {}

  /** A tuned row has a lighter one than its main row. */
  static int colour(String row) {
    String name = Engines.mainRow(row);
    int index = KNOWN.indexOf(name);
    int colour =
        index >= 0 ? COLOURS[index] : OTHERS[Math.floorMod(name.hashCode(), OTHERS.length)];
    // Half way to white.
    return Engines.isTuned(row) ? 0x7f7f7f + (colour >> 1 & 0x7f7f7f) : colour;
  }

  /** Black or white, whichever is readable on a colour. */
  static int inkOn(int colour) {
    double light =
        0.299 * (colour >> 16 & 0xff) + 0.587 * (colour >> 8 & 0xff) + 0.114 * (colour & 0xff);
    return light > 140 ? INK : PAPER;
  }

  /** Known engines in the order of their list, then the others by name; tuned rows beside them. */
  static Comparator<String> order() {
    return Comparator.<String>comparingInt(
            row ->
                KNOWN.contains(Engines.mainRow(row))
                    ? KNOWN.indexOf(Engines.mainRow(row))
                    : KNOWN.size())
        .thenComparing(Comparator.naturalOrder());
  }
}
