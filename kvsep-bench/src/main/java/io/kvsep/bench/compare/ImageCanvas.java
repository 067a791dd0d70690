package io.kvsep.bench.compare;

import java.awt.Color;
import java.awt.Font;
import java.awt.Graphics2D;
import java.awt.RenderingHints;
import java.awt.geom.RoundRectangle2D;
import java.awt.image.BufferedImage;

/**
 * Draws into an image with twice the pixels in each direction, for sharp text. Needs no display.
 */
final class ImageCanvas implements Canvas, AutoCloseable {
  private static final int PIXELS = 2;

  private final BufferedImage image;
  private final Graphics2D graphics;

  ImageCanvas(int width, int height) {
    image = new BufferedImage(PIXELS * width, PIXELS * height, BufferedImage.TYPE_INT_RGB);
    graphics = image.createGraphics();
    graphics.scale(PIXELS, PIXELS);
    graphics.setRenderingHint(RenderingHints.KEY_ANTIALIASING, RenderingHints.VALUE_ANTIALIAS_ON);
    graphics.setRenderingHint(
        RenderingHints.KEY_TEXT_ANTIALIASING, RenderingHints.VALUE_TEXT_ANTIALIAS_ON);
    graphics.setRenderingHint(
        RenderingHints.KEY_FRACTIONALMETRICS, RenderingHints.VALUE_FRACTIONALMETRICS_ON);
  }

  @Override
  public void rectangle(
      double x, double y, double width, double height, double radius, int colour) {
    graphics.setColor(new Color(colour));
    graphics.fill(new RoundRectangle2D.Double(x, y, width, height, 2 * radius, 2 * radius));
  }

  @Override
  public void text(double x, double baseline, String words, Style style, Anchor anchor) {
    Font font = new Font(Font.SANS_SERIF, style.bold() ? Font.BOLD : Font.PLAIN, 1);
    graphics.setFont(font.deriveFont((float) style.size()));
    graphics.setColor(new Color(style.colour()));
    double left =
        anchor == Anchor.START
            ? x
            : x - graphics.getFontMetrics().getStringBounds(words, graphics).getWidth();
    graphics.drawString(words, (float) left, (float) baseline);
  }

  BufferedImage image() {
    return image;
  }

  @Override
  public void close() {
    graphics.dispose();
  }
}
