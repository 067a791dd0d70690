package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.KvStore;
import io.kvsep.examples.TimeSeries.Point;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class TimeSeriesTest {
  private static final Instant START = Instant.parse("2026-11-01T00:00:00Z");

  @TempDir Path directory;

  @Test
  void aPeriodReachesOverDaysAndOldDaysOfAllSeriesAreDeleted() {
    List<Point> points = new ArrayList<>();
    for (int hour = 0; hour < 240; hour++) {
      points.add(new Point(START.plus(Duration.ofHours(hour)), hour));
    }
    try (KvStore store = KvStore.inMemory()) {
      TimeSeries series = new TimeSeries(store);
      for (Point point : points) {
        series.add("roof", point.time(), point.value());
        series.add("roo", point.time(), -1);
        series.add("roofs", point.time(), -1);
      }

      assertEquals(points.subList(20, 100), series.between("roof", at(20), at(100)));
      assertEquals(points.subList(24, 48), series.between("roof", at(24), at(48)));
      assertEquals(List.of(), series.between("roof", at(30), at(30)));
      assertEquals(List.of(), series.between("cellar", at(0), at(240)));

      series.deleteBefore(LocalDate.parse("2026-11-09"));
      assertEquals(points.subList(192, 240), series.between("roof", at(0), at(240)));
      assertEquals(48, series.between("roo", at(0), at(240)).size());
      assertEquals(48, series.between("roofs", at(0), at(240)).size());
      assertThrows(IllegalArgumentException.class, () -> series.add("a\0b", START, 1));
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        """
        2026-11-28T06:00:00Z 21.0
        2026-11-28T18:00:00Z 22.0
        2026-11-29T06:00:00Z 23.0
        """,
        Printed.by(() -> TimeSeries.main(new String[] {directory.toString()})));
  }

  private static Instant at(int hour) {
    return START.plus(Duration.ofHours(hour));
  }
}
