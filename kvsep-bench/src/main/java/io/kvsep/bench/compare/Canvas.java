package io.kvsep.bench.compare;

/** What a chart is drawn on; lengths are in pixels from the upper left corner. Not thread safe. */
interface Canvas {

  /** Where a text is in relation to its x. */
  enum Anchor {
    START,
    END
  }

  void rectangle(double x, double y, double width, double height, double radius, int colour);

  /** {@code baseline} is the line the letters stand on. */
  void text(double x, double baseline, String text, Style style, Anchor anchor);

  /** Letters of a size and colour. */
  record Style(double size, boolean bold, int colour) {

    /**
     * A width that the text does not exceed, whatever font is there: letters of sans-serif fonts
     * are less than two thirds as wide as high on average.
     */
    double widthOf(String text) {
      return text.length() * size * (bold ? 0.68 : 0.62);
    }
  }
}
