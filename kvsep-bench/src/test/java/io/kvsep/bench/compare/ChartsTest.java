package io.kvsep.bench.compare;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.bench.FailedMeasurementException;
import io.kvsep.bench.UsageException;
import io.kvsep.bench.compare.Chart.Bar;
import io.kvsep.bench.compare.Chart.Scale;
import java.awt.image.BufferedImage;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.imageio.ImageIO;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A chart shows what the file says: each engine with a bar, and the value on it. */
final class ChartsTest {
  private static final String ROUNDS =
      """
      round,dataset,engine,workload,metric,value,unit
      1,128,lmdb,load,until_closed,119000,/s
      1,128,kvsep,load,until_closed,100,/s
      2,128,kvsep,load,until_closed,802400,/s
      3,128,kvsep,load,until_closed,900000,/s
      1,128,kvsep,get,rate,1257000,/s
      1,128,lmdb,get,rate,1110000,/s
      1,128,kvsep,get,p99,3.1,us
      1,128,kvsep,load,disk_by_raw,0.952,x
      1,128,lmdb,load,disk_by_raw,1.68,x
      1,64000/2932000,bbolt,open,seconds,0.0123,s
      """;

  @TempDir Path folder;

  @Test
  void everyEngineHasABarWithTheMedianOfItsRounds() {
    Chart chart = Charts.of(Medians.parse("test", ROUNDS.lines().toList())).get(0);
    assertEquals("data-128", chart.fileName());
    assertEquals("Values: 128 bytes", chart.title());
    assertEquals(List.of("kvsep", "lmdb"), chart.engines());
    assertEquals(
        List.of("Load, until closed", "Random get, fresh array"),
        chart.groups().stream().map(Chart.Group::title).toList());
    assertEquals(
        List.of(new Bar("kvsep", 802_400), new Bar("lmdb", 119_000)), chart.groups().get(0).bars());
  }

  @Test
  void oneChartForTheDiskAndOneForEachDataSet() {
    List<Chart> charts = Charts.of(Medians.parse("test", ROUNDS.lines().toList()));
    assertEquals(
        List.of("data-128", "data-64000_2932000", "disk"),
        charts.stream().map(Chart::fileName).toList());
    Chart.Group sizes = charts.get(2).groups().get(0);
    assertEquals("128 bytes, after load", sizes.title());
    assertEquals(0.952, sizes.best());
    assertEquals(1.68, sizes.largest());
  }

  @Test
  void dataSetsOfLikeNamesHaveTheirOwnFiles() {
    List<String> lines = new ArrayList<>(List.of(Medians.HEADER));
    for (String dataset : List.of("a/b", "a_b", "a b", "a=000020b")) {
      lines.add("1," + dataset + ",kvsep,get,rate,1,/s");
    }
    assertEquals(
        List.of("data-a_b", "data-a=00005fb", "data-a=000020b", "data-a=00003d000020b"),
        Charts.of(Medians.parse("test", lines)).stream().map(Chart::fileName).toList());
  }

  @Test
  void barsAreInProportionAndCarryTheirValues() throws IOException {
    String svg = Files.readString(written("data-128.svg"));
    assertTrue(svg.startsWith("<svg "), svg);
    for (String label : List.of("802 k/s", "119 k/s", "1.26 M/s", "1.11 M/s", "kvsep", "lmdb")) {
      assertTrue(svg.contains(">" + label + "</text>"), label);
    }
    // In a group and in the legend.
    assertEquals(3, count(svg, "<rect .*fill=\"#c2410c\"/>"));
    assertEquals(3, count(svg, "<rect .*fill=\"#15803d\"/>"));
    List<Double> widths = barWidths(svg, "#15803d");
    List<Double> full = barWidths(svg, "#c2410c");
    assertEquals(119_000.0 / 802_400, widths.get(0) / full.get(0), 0.001);
    assertEquals(1_110_000.0 / 1_257_000, widths.get(1) / full.get(1), 0.001);
  }

  @Test
  void pictureHasTheColoursOfItsBars() throws IOException {
    BufferedImage image = ImageIO.read(written("data-128.png").toFile());
    assertNotNull(image);
    assertEquals(2400, image.getWidth());
    int[] pixels = image.getRGB(0, 0, image.getWidth(), image.getHeight(), null, 0, 2400);
    long kvsep = pixelsOf(pixels, Palette.colour("kvsep"));
    long lmdb = pixelsOf(pixels, Palette.colour("lmdb"));
    assertTrue(kvsep > lmdb && lmdb > 5_000, () -> kvsep + " and " + lmdb);
    assertTrue(pixelsOf(pixels, Palette.PAPER) > pixels.length / 3);
    assertTrue(pixelsOf(pixels, Palette.INK) > 500, "no letters");
  }

  @Test
  void manyEnginesAndGroupsStayInThePicture() throws IOException {
    List<String> lines = new ArrayList<>(List.of(Medians.HEADER));
    for (int engine = 0; engine < 20; engine++) {
      for (String workload : List.of("get", "get1", "miss", "iterate")) {
        lines.add("1,128,some-other-engine-" + engine + "," + workload + ",rate,12345,/s");
      }
    }
    Path csv = Files.write(folder.resolve("many.csv"), lines);
    String svg = Files.readString(Charts.write(csv, folder).get(0));
    Matcher size = Pattern.compile("<svg .*width=\"(\\d+)\" height=\"(\\d+)\"").matcher(svg);
    assertTrue(size.find());
    Matcher texts = Pattern.compile("<text x=\"([0-9.]+)\" y=\"([0-9.]+)\"").matcher(svg);
    while (texts.find()) {
      assertTrue(Double.parseDouble(texts.group(1)) < Integer.parseInt(size.group(1)));
      assertTrue(Double.parseDouble(texts.group(2)) < Integer.parseInt(size.group(2)));
    }
  }

  @Test
  void valuesAreWrittenWithThreeDigitsThatCount() {
    assertEquals("0.50 /s", Scale.RATE.label(0.5));
    assertEquals("999 /s", Scale.RATE.label(999.4));
    assertEquals("1.00 k/s", Scale.RATE.label(999.6));
    assertEquals("12.3 k/s", Scale.RATE.label(12_345));
    assertEquals("999 k/s", Scale.RATE.label(999_400));
    assertEquals("1.00 M/s", Scale.RATE.label(999_600));
    assertEquals("31.6 M/s", Scale.RATE.label(31_600_000));
    assertEquals("12.3 ms", Scale.SECONDS.label(0.0123));
    assertEquals("1.50 s", Scale.SECONDS.label(1.5));
    assertEquals("0.95 x", Scale.BY_RAW.label(0.952));
  }

  @Test
  void engineKeepsItsColourAndItsPlace() {
    assertNotEquals(Palette.colour("rocksdb"), Palette.colour("rocksdb-blob"));
    assertNotEquals(Palette.colour("lmdb"), Palette.colour("lmdb-tuned"));
    assertEquals(
        List.of("kvsep", "lmdb", "lmdb-tuned", "bbolt", "other", "tother"),
        List.of("tother", "other", "bbolt", "lmdb-tuned", "lmdb", "kvsep").stream()
            .sorted(Palette.order())
            .toList());
  }

  @Test
  void fileWithoutFiguresIsRefused() throws IOException {
    assertRefused("", " does not start with the line round,dataset,");
    assertRefused("hello\n", " does not start with the line round,dataset,");
    assertRefused(Medians.HEADER + "\n", " has no figures, only a header");
    assertRefused(Medians.HEADER + "\n1,128,kvsep\n", ", line 2: 3 columns instead of 7: ");
    assertRefused(
        Medians.HEADER + "\n\n1,128,kvsep,get,rate,fast,/s\n", ", line 3: not a number: fast");
    assertRefused(
        Medians.HEADER + "\n1,128,kvsep,get,rate,NaN,/s\n", ", line 2: not a figure: NaN");
    assertRefused(
        Medians.HEADER + "\n1,128,kvsep,get,p50,1,us\n", " has no figure that a chart shows");
    FailedMeasurementException absent =
        assertThrows(
            FailedMeasurementException.class,
            () -> Charts.write(folder.resolve("absent.csv"), folder));
    assertTrue(message(absent).startsWith("there is no file "), absent::toString);
  }

  @Test
  void commandNeedsBothPaths() {
    UsageException usage =
        assertThrows(UsageException.class, () -> ChartsCommand.run(List.of("--csv", "a.csv")));
    assertEquals("charts needs --csv FILE and --to DIR", usage.getMessage());
  }

  private void assertRefused(String content, String reason) throws IOException {
    Path csv = Files.writeString(folder.resolve("refused.csv"), content);
    FailedMeasurementException refused =
        assertThrows(
            FailedMeasurementException.class, () -> Charts.write(csv, folder.resolve("none")));
    assertTrue(message(refused).startsWith(csv + reason), refused::toString);
    assertFalse(Files.exists(folder.resolve("none")), "nothing is written");
  }

  private static String message(RuntimeException problem) {
    return String.valueOf(problem.getMessage());
  }

  private Path written(String name) throws IOException {
    Path csv = Files.writeString(folder.resolve("rounds.csv"), ROUNDS);
    List<Path> files = Charts.write(csv, folder.resolve("charts"));
    Path wanted = folder.resolve("charts").resolve(name);
    assertTrue(files.contains(wanted), files::toString);
    return wanted;
  }

  private static int count(String text, String pattern) {
    return (int) Pattern.compile(pattern).matcher(text).results().count();
  }

  /** Of the bars in the groups; the legend comes before them. */
  private static List<Double> barWidths(String svg, String colour) {
    return Pattern.compile("<rect .*width=\"([0-9.]+)\" height=\"17.0\".*fill=\"" + colour + "\"")
        .matcher(svg)
        .results()
        .map(found -> Double.parseDouble(found.group(1)))
        .toList();
  }

  private static long pixelsOf(int[] pixels, int colour) {
    return Arrays.stream(pixels).filter(pixel -> (pixel & 0xffffff) == colour).count();
  }
}
