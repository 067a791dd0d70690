package io.kvsep.bench.compare;

import java.util.Locale;

/** Writes SVG text. */
final class SvgCanvas implements Canvas {
  private final StringBuilder text = new StringBuilder();

  SvgCanvas(int width, int height) {
    add(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\""
            + " font-family=\"DejaVu Sans, Verdana, Helvetica, Arial, sans-serif\">",
        width, height, width, height);
  }

  @Override
  public void rectangle(
      double x, double y, double width, double height, double radius, int colour) {
    add(
        "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" fill=\"#%06x\"/>",
        x, y, width, height, radius, colour);
  }

  @Override
  public void text(double x, double baseline, String words, Style style, Anchor anchor) {
    add(
        "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%.1f\"%s%s fill=\"#%06x\">%s</text>",
        x,
        baseline,
        style.size(),
        style.bold() ? " font-weight=\"bold\"" : "",
        anchor == Anchor.END ? " text-anchor=\"end\"" : "",
        style.colour(),
        escape(words));
  }

  private void add(String format, Object... values) {
    text.append(String.format(Locale.ROOT, format, values)).append('\n');
  }

  private static String escape(String words) {
    return words.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
  }

  @Override
  public String toString() {
    return text + "</svg>\n";
  }
}
