package io.kvsep.examples;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.KvStore;
import io.kvsep.examples.PrefixScan.Measurement;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class PrefixScanTest {
  @TempDir Path directory;

  @Test
  void eachSensorHasItsOwnHistoryInTimeOrder() {
    List<Measurement> roof = new ArrayList<>();
    for (int i = 0; i < 1000; i++) {
      roof.add(new Measurement(i * 1000L, i / 10.0));
    }
    try (KvStore store = KvStore.open(directory)) {
      PrefixScan sensors = new PrefixScan(store);
      sensors.record("roo", List.of(new Measurement(Long.MAX_VALUE, -1)));
      sensors.record("roof", roof);
      sensors.record("roofs", List.of(new Measurement(0, -1)));

      assertEquals(roof, sensors.between("roof", 0, Long.MAX_VALUE));
      assertEquals(roof.subList(10, 20), sensors.between("roof", 10_000, 20_000));
      List<Measurement> newest = new ArrayList<>(roof.subList(997, 1000));
      Collections.reverse(newest);
      assertEquals(newest, sensors.latest("roof", 3));
      assertEquals(1000, sensors.count("roof"));
      assertEquals(0, sensors.count("ro"));
      assertEquals(List.of(), sensors.latest("cellar", 3));

      sensors.forget("roof", 990_000);
      assertEquals(roof.subList(990, 1000), sensors.between("roof", 0, Long.MAX_VALUE));
      assertEquals(1, sensors.count("roo"));
      assertEquals(1, sensors.count("roofs"));
    }
  }

  @Test
  void noSensorIsInThePrefixOfAnother() {
    try (KvStore store = KvStore.open(directory)) {
      PrefixScan sensors = new PrefixScan(store);
      List<Measurement> one = List.of(new Measurement(1, 1));
      sensors.record("a", one);
      assertThrows(IllegalArgumentException.class, () -> sensors.record("a\0b", one));
      assertThrows(IllegalArgumentException.class, () -> sensors.forget("a\0b", 2));
      assertEquals(1, sensors.count("a"));
    }
  }

  @Test
  void theProgramRuns() {
    assertEquals(
        """
        roof, latest: [Measurement[timeMillis=2, value=21.0]]
        roof, in all: 2
        """,
        Printed.by(() -> PrefixScan.main(new String[] {directory.toString()})));
  }
}
