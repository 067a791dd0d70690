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
 * and the time, most significant byte first, so that one sensor's measurements lie together in time
 * order: its history is a prefix, its latest value the last key of that prefix, a period a range.
 * So that no history lies in the prefix of another sensor, names have no zero bytes.
 */
public final class PrefixScan {
  private final KvStore store;

  public PrefixScan(KvStore store) {
    this.store = store;
  }

  /** One measurement. */
  public record Measurement(long timeMillis, double value) {}

  /** All of them or none; times are not negative. */
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

  /** Those from {@code fromMillis} up to before {@code toMillis}, oldest first. */
  public List<Measurement> between(String sensor, long fromMillis, long toMillis) {
    return list(ScanOptions.range(key(sensor, fromMillis), key(sensor, toMillis)));
  }

  /** Drops what is older, however much that is, in one short write. */
  public void forget(String sensor, long beforeMillis) {
    store.deleteRange(prefix(sensor), key(sensor, beforeMillis));
  }

  /** Counts without reading a single value. */
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
        // The views are valid until the cursor moves and copy nothing.
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
