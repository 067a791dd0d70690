package io.kvsep.bench.compare;

import io.kvsep.bench.compare.Canvas.Anchor;
import io.kvsep.bench.compare.Canvas.Style;
import java.util.List;

/**
 * Lays out a chart: panels in three columns, one for each group, with a bar for each engine. The
 * longest bar of a panel has full length, so that panels are readable although their values differ
 * by powers of ten. Immutable.
 */
final class ChartLayout {
  private static final int WIDTH = 1200;
  private static final int COLUMNS = 3;
  private static final int MARGIN = 24;
  private static final int GAP = 16;
  private static final int HEAD = 70;
  private static final int LEGEND_ROW = 26;
  private static final int PADDING = 12;
  private static final int PANEL_HEAD = 34;
  private static final int BAR = 17;
  private static final int BAR_STEP = 22;
  private static final int NAME_WIDTH = 116;
  private static final int PANEL_WIDTH = (WIDTH - 2 * MARGIN - (COLUMNS - 1) * GAP) / COLUMNS;
  private static final double LABEL_GAP = 6;
  private static final String LESS = "less is better";

  private static final Style TITLE = new Style(22, true, Palette.INK);
  private static final Style SUBTITLE = new Style(13, false, Palette.FAINT_INK);
  private static final Style LEGEND = new Style(13, false, Palette.INK);
  private static final Style PANEL_TITLE = new Style(14, true, Palette.INK);
  private static final Style NOTE = new Style(11, false, Palette.FAINT_INK);
  private static final Style NAME = new Style(12, false, Palette.INK);

  private final Chart chart;

  ChartLayout(Chart chart) {
    this.chart = chart;
  }

  int width() {
    return WIDTH;
  }

  int height() {
    int height = HEAD + legendRows() * LEGEND_ROW;
    for (int first = 0; first < chart.groups().size(); first += COLUMNS) {
      height += rowHeight(first) + GAP;
    }
    return height + MARGIN - GAP;
  }

  void draw(Canvas canvas) {
    canvas.rectangle(0, 0, width(), height(), 0, Palette.PAPER);
    canvas.text(MARGIN, 36, chart.title(), TITLE, Anchor.START);
    canvas.text(MARGIN, 57, chart.subtitle(), SUBTITLE, Anchor.START);
    drawLegend(canvas);
    int top = HEAD + legendRows() * LEGEND_ROW;
    for (int first = 0; first < chart.groups().size(); first += COLUMNS) {
      int height = rowHeight(first);
      List<Chart.Group> row = row(first);
      for (int column = 0; column < row.size(); column++) {
        drawPanel(canvas, row.get(column), panelX(column), top, height);
      }
      top += height + GAP;
    }
  }

  private List<Chart.Group> row(int first) {
    return chart.groups().subList(first, Math.min(first + COLUMNS, chart.groups().size()));
  }

  private int rowHeight(int first) {
    int bars = row(first).stream().mapToInt(group -> group.bars().size()).max().orElse(0);
    return PANEL_HEAD + bars * BAR_STEP - (BAR_STEP - BAR) + PADDING;
  }

  private static int panelX(int column) {
    return MARGIN + column * (PANEL_WIDTH + GAP);
  }

  private int legendRows() {
    int rows = 1;
    double x = MARGIN;
    for (String engine : chart.engines()) {
      if (x > MARGIN && x + legendWidth(engine) > WIDTH - MARGIN) {
        rows++;
        x = MARGIN;
      }
      x += legendWidth(engine);
    }
    return rows;
  }

  private static double legendWidth(String engine) {
    return 40 + LEGEND.widthOf(engine);
  }

  private void drawLegend(Canvas canvas) {
    double x = MARGIN;
    double y = HEAD;
    for (String engine : chart.engines()) {
      if (x > MARGIN && x + legendWidth(engine) > WIDTH - MARGIN) {
        y += LEGEND_ROW;
        x = MARGIN;
      }
      canvas.rectangle(x, y, 14, 14, 3, Palette.colour(engine));
      canvas.text(x + 20, y + 12, engine, LEGEND, Anchor.START);
      x += legendWidth(engine);
    }
  }

  private void drawPanel(Canvas canvas, Chart.Group group, int x, int y, int height) {
    canvas.rectangle(x, y, PANEL_WIDTH, height, 6, Palette.PANEL);
    canvas.text(x + PADDING, y + 21, group.title(), PANEL_TITLE, Anchor.START);
    double room = PANEL_WIDTH - 2 * PADDING - PANEL_TITLE.widthOf(group.title());
    if (group.scale().lessIsBetter && NOTE.widthOf(LESS) <= room) {
      canvas.text(x + PANEL_WIDTH - PADDING, y + 21, LESS, NOTE, Anchor.END);
    }
    int barY = y + PANEL_HEAD;
    for (Chart.Bar bar : group.bars()) {
      drawBar(canvas, group, bar, x + PADDING, barY);
      barY += BAR_STEP;
    }
  }

  /** The value is at the end of the bar, inside it if it fits. */
  private static void drawBar(Canvas canvas, Chart.Group group, Chart.Bar bar, int x, int y) {
    double baseline = y + BAR - 4.5;
    canvas.text(x, baseline, bar.engine(), NAME, Anchor.START);
    double left = x + NAME_WIDTH;
    double room = PANEL_WIDTH - 2 * PADDING - NAME_WIDTH;
    double width = group.largest() > 0 ? Math.max(2, room * bar.value() / group.largest()) : 2;
    int colour = Palette.colour(bar.engine());
    canvas.rectangle(left, y, room, BAR, 3, Palette.TRACK);
    canvas.rectangle(left, y, width, BAR, Math.min(3, width / 2), colour);
    String label = group.scale().label(bar.value());
    boolean best = bar.value() == group.best();
    Style inside = new Style(12, best, Palette.inkOn(colour));
    if (inside.widthOf(label) + 2 * LABEL_GAP <= width) {
      canvas.text(left + width - LABEL_GAP, baseline, label, inside, Anchor.END);
    } else {
      Style beside = new Style(12, best, Palette.INK);
      canvas.text(left + width + LABEL_GAP, baseline, label, beside, Anchor.START);
    }
  }
}
