package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KeyspaceView;
import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;

/**
 * Time series that are kept for some days.
 *
 * <pre>
 * DAY (4 bytes) SERIES 0 TIME (8 bytes)   a double
 * </pre>
 *
 * <p>The day comes first, so the old days of all series are one range, which one write deletes.
 * Reading a series takes a scan for each day. {@link PrefixScan} has the series first: one scan
 * reads all of it, but each series needs its own deletion. Times are not before 1970.
 */
public final class TimeSeries {
  private final KeyspaceView points;

  public TimeSeries(KvStore store) {
    this.points = store.in(store.keyspace("points"));
  }

  public record Point(Instant time, double value) {}

  public void add(String series, Instant time, double value) {
    points.put(
        key(day(time), series, time), ByteBuffer.allocate(Double.BYTES).putDouble(value).array());
  }

  /** The points from {@code from} to before {@code to} in order of time. */
  public List<Point> between(String series, Instant from, Instant to) {
    List<Point> found = new ArrayList<>();
    for (LocalDate day = day(from); !day.isAfter(day(to)); day = day.plusDays(1)) {
      ScanOptions range = ScanOptions.range(key(day, series, from), key(day, series, to));
      try (KvCursor cursor = points.cursor(range)) {
        while (cursor.next()) {
          ByteBuffer key = cursor.keyView();
          Instant time = Instant.ofEpochMilli(key.getLong(key.limit() - Long.BYTES));
          found.add(new Point(time, cursor.valueView().getDouble()));
        }
      }
    }
    return found;
  }

  /** Deletes what is older than {@code day}, of all series, in one short write. */
  public void deleteBefore(LocalDate day) {
    points.deleteRange(new byte[0], bytes(day));
  }

  private static LocalDate day(Instant time) {
    return LocalDate.ofInstant(time, ZoneOffset.UTC);
  }

  private static byte[] bytes(LocalDate day) {
    return ByteBuffer.allocate(Integer.BYTES).putInt(Math.toIntExact(day.toEpochDay())).array();
  }

  private static byte[] key(LocalDate day, String series, Instant time) {
    if (series.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("the name of a series has a zero byte");
    }
    byte[] name = (series + '\0').getBytes(UTF_8);
    return ByteBuffer.allocate(Integer.BYTES + name.length + Long.BYTES)
        .put(bytes(day))
        .put(name)
        .putLong(time.toEpochMilli())
        .array();
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "series-data");
    try (KvStore store = KvStore.open(directory)) {
      TimeSeries series = new TimeSeries(store);
      Instant start = Instant.parse("2026-11-27T18:00:00Z");
      for (int i = 0; i < 4; i++) {
        series.add("roof", start.plus(Duration.ofHours(12).multipliedBy(i)), 20 + i);
      }
      series.deleteBefore(LocalDate.parse("2026-11-28"));
      for (Point point : series.between("roof", start, start.plus(Duration.ofDays(2)))) {
        System.out.println(point.time() + " " + point.value());
      }
    }
  }
}
