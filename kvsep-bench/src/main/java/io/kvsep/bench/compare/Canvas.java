package io.kvsep.bench.compare;

/**
 * Drawing surface of a chart; lengths are in pixels from the upper left corner. Not thread safe.
 */
interface Canvas {

  /** Position of a text relative to its x. */
  enum Anchor {
    START,
    END
  }

  void rectangle(double x, double y, double width, double height, double radius, int colour);

  /** {@code baseline} is the line under the letters. */
  void text(double x, double baseline, String text, Style style, Anchor anchor);

  /** Size and colour of text. */
  record Style(double size, boolean bold, int colour) {

    /**
     * Upper bound of a text's width in any font: letters of sans-serif fonts are on average less
     * than two thirds as wide as high.
     */
    double widthOf(String text) {
      return text.length() * size * (bold ? 0.68 : 0.62);
    }
  }
}
