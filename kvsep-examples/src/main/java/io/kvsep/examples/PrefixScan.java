package io.kvsep.examples;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.WriteBatch;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Measurements of many sensors in one ordered key space. A key is the sensor's name, a zero byte
 * and the time in big-endian order, so that the measurements of a sensor are adjacent and in time
 * order: its history is a prefix, its latest value the last key of that prefix, a period a range.
 * Names have no zero bytes, so no sensor's history lies in the prefix of another one.
 */
public final class PrefixScan {
  private final KvStore store;

  public PrefixScan(KvStore store) {
    this.store = store;
  }

  public record Measurement(long timeMillis, double value) {}

  /** Writes all measurements or none; times are not negative. */
  public void record(String sensor, List<Measurement> measurements) {
    WriteBatch batch = new WriteBatch();
    for (Measurement measurement : measurements) {
      byte[] value = ByteBuffer.allocate(Double.BYTES).putDouble(measurement.value()).array();
      batch.put(key(sensor, measurement.timeMillis()), value);
    }
    store.write(batch);
  }

  /** The newest {@code count} measurements, newest first. */
  public List<Measurement> latest(String sensor, long count) {
    return list(ScanOptions.prefix(prefix(sensor)).reverse().limit(count));
  }

  /** The measurements from {@code fromMillis} to before {@code toMillis}, oldest first. */
  public List<Measurement> between(String sensor, long fromMillis, long toMillis) {
    return list(ScanOptions.range(key(sensor, fromMillis), key(sensor, toMillis)));
  }

  /** Deletes all older measurements, however many, in one short write. */
  public void forget(String sensor, long beforeMillis) {
    store.deleteRange(prefix(sensor), key(sensor, beforeMillis));
  }

  /** Counts without reading any value. */
  public long count(String sensor) {
    long count = 0;
    try (KvCursor cursor = store.cursor(ScanOptions.prefix(prefix(sensor)).keysOnly())) {
      while (cursor.next()) {
        count++;
      }
    }
    return count;
  }

  private List<Measurement> list(ScanOptions options) {
    List<Measurement> found = new ArrayList<>();
    try (KvCursor cursor = store.cursor(options)) {
      while (cursor.next()) {
        // Views are valid until the cursor moves, and avoid a copy.
        ByteBuffer key = cursor.keyView();
        long timeMillis = key.getLong(key.limit() - Long.BYTES);
        found.add(new Measurement(timeMillis, cursor.valueView().getDouble()));
      }
    }
    return found;
  }

  private static byte[] prefix(String sensor) {
    if (sensor.indexOf('\0') >= 0) {
      throw new IllegalArgumentException("the name of a sensor has a zero byte");
    }
    return (sensor + '\0').getBytes(UTF_8);
  }

  private static byte[] key(String sensor, long timeMillis) {
    byte[] prefix = prefix(sensor);
    return ByteBuffer.allocate(prefix.length + Long.BYTES).put(prefix).putLong(timeMillis).array();
  }

  public static void main(String[] arguments) {
    Path directory = Path.of(arguments.length > 0 ? arguments[0] : "sensor-data");
    try (KvStore store = KvStore.open(directory)) {
      PrefixScan sensors = new PrefixScan(store);
      sensors.record("door", List.of(new Measurement(1, 0)));
      sensors.record("roof", List.of(new Measurement(1, 20.5), new Measurement(2, 21)));
      System.out.println("roof, latest: " + sensors.latest("roof", 1));
      System.out.println("roof, in all: " + sensors.count("roof"));
    }
  }
}
