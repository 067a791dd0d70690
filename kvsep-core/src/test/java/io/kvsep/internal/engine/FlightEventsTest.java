package io.kvsep.internal.engine;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.sun.management.ThreadMXBean;
import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import io.kvsep.internal.config.EngineConfig.CommitSync;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.jfr.FlightEvents;
import io.kvsep.testing.Documents;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualClock;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import jdk.jfr.DataAmount;
import jdk.jfr.EventType;
import jdk.jfr.FlightRecorder;
import jdk.jfr.Recording;
import jdk.jfr.SettingDescriptor;
import jdk.jfr.Timespan;
import jdk.jfr.ValueDescriptor;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordingFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Flight Recorder's view of a real store. */
final class FlightEventsTest {
  private static final List<String> NAMES =
      List.of(
          "io.kvsep.Flush",
          "io.kvsep.Compaction",
          "io.kvsep.Reclaim",
          "io.kvsep.WriteStall",
          "io.kvsep.LogSync");

  @TempDir Path directory;

  private final ManualScheduler scheduler = new ManualScheduler(3, 1);

  private StorageEngine open() throws IOException {
    return StorageEngine.open(
        Engines.config(
            new FileStorage(directory.resolve("store"), /* mayCreate= */ true),
            CommitSync.ON_DEMAND,
            new ManualClock(1_000),
            new Random(3),
            scheduler));
  }

  private static Recording recording() {
    Recording recording = new Recording();
    NAMES.forEach(name -> recording.enable(name).withoutThreshold());
    return recording;
  }

  private List<RecordedEvent> end(Recording recording) throws IOException {
    Path file = directory.resolve("events.jfr");
    recording.dump(file);
    recording.close();
    return RecordingFile.readAllEvents(file);
  }

  private static List<RecordedEvent> only(List<RecordedEvent> events, String name) {
    return events.stream().filter(e -> e.getEventType().getName().equals(name)).toList();
  }

  private static long sum(List<RecordedEvent> events, ToLongFunction<RecordedEvent> field) {
    return events.stream().mapToLong(field).sum();
  }

  private static void put(StorageEngine engine, int key, int valueLength) {
    byte[] value = new byte[valueLength];
    new Random(key).nextBytes(value);
    engine.writes().put(0, ("key-" + key).getBytes(UTF_8), value, 0);
  }

  @Test
  void eventsTellWhatTheStoreDid() throws IOException {
    Recording recording = recording();
    recording.start();
    StoreStats stats;
    try (StorageEngine engine = open()) {
      for (int i = 0; i < 2_000; i++) {
        put(engine, i, 40);
      }
      engine.compact();
      stats = engine.stats();
      recording.stop();
    }
    List<RecordedEvent> events = end(recording);

    List<RecordedEvent> flushes = only(events, "io.kvsep.Flush");
    assertEquals(stats.flushes(), flushes.size());
    assertEquals(2_000, sum(flushes, e -> e.getLong("entries")));
    for (RecordedEvent flush : flushes) {
      long memtableBytes = flush.getLong("memtableBytes");
      assertTrue(memtableBytes > 40 * flush.getLong("entries"), flush.toString());
      assertTrue(memtableBytes <= Engines.TINY.memtables().bytes(), flush.toString());
    }
    List<RecordedEvent> compactions = only(events, "io.kvsep.Compaction");
    assertEquals(stats.compactions(), compactions.size());
    List<RecordedEvent> merges = compactions.stream().filter(e -> !e.getBoolean("moved")).toList();
    assertFalse(merges.isEmpty());
    for (RecordedEvent merge : merges) {
      assertTrue(merge.getInt("outputLevel") >= merge.getInt("inputLevel"), merge.toString());
      assertTrue(merge.getInt("inputTables") > 0, merge.toString());
      assertTrue(merge.getInt("outputTables") > 0, merge.toString());
    }
    long tableBytesWritten =
        sum(flushes, e -> e.getLong("tableBytes")) + sum(merges, e -> e.getLong("outputBytes"));
    long tableBytesRemoved = sum(merges, e -> e.getLong("inputBytes"));
    assertEquals(stats.tableBytes(), tableBytesWritten - tableBytesRemoved);
    List<RecordedEvent> stalls = only(events, "io.kvsep.WriteStall");
    assertEquals(stats.stalls(), stalls.size());
    assertFalse(stalls.isEmpty());
    for (RecordedEvent event : events) {
      assertEquals(directory.resolve("store").toString(), event.getString("store"));
      assertTrue(event.getDuration().toNanos() >= 0);
    }
  }

  @Test
  void reclaimTellsWhatItRewrote() throws IOException {
    Recording recording = recording();
    ReclaimReport result;
    StoreStats stats;
    try (StorageEngine engine = open()) {
      for (int i = 0; i < 200; i++) {
        put(engine, i, 500);
      }
      for (int i = 0; i < 200; i += 2) {
        put(engine, i, 500);
      }
      recording.start();
      result = engine.reclaim();
      stats = engine.stats();
      recording.stop();
    }
    List<RecordedEvent> jobs = only(end(recording), "io.kvsep.Reclaim");

    assertFalse(jobs.isEmpty());
    assertEquals(result.filesRewritten(), sum(jobs, e -> e.getInt("victims")));
    assertEquals(result.bytesRead(), sum(jobs, e -> e.getLong("bytesRead")));
    assertEquals(result.bytesWritten(), sum(jobs, e -> e.getLong("bytesWritten")));
    assertEquals(stats.reclaim().filesRewritten(), result.filesRewritten());
    assertEquals(stats.reclaim().bytesRead(), result.bytesRead());
    assertEquals(stats.reclaim().bytesWritten(), result.bytesWritten());
    for (RecordedEvent job : jobs) {
      assertEquals(directory.resolve("store").toString(), job.getString("store"));
      assertTrue(job.getLong("bytesFreed") > 0, job.toString());
      assertTrue(job.getLong("bytesWritten") > job.getLong("bytesRead"), job.toString());
    }
    // Files that were dead as a whole are no job's.
    assertTrue(sum(jobs, e -> e.getLong("bytesFreed")) <= result.bytesFreed());
  }

  @Test
  void syncsTellHowMuchBecameDurable() throws IOException {
    Recording recording = recording();
    StoreStats stats;
    try (StorageEngine engine = open()) {
      recording.start();
      // More than a segment, 20 KiB here, and less than a memtable covers.
      for (int i = 0; i < 6; i++) {
        put(engine, i, 5_000);
      }
      engine.sync();
      engine.sync();
      put(engine, 10, 100);
      engine.sync();
      stats = engine.stats();
      recording.stop();
    }
    List<RecordedEvent> syncs = only(end(recording), "io.kvsep.LogSync");

    assertEquals(2, syncs.size(), "nothing was left for the second one");
    assertEquals(stats.logSegments(), syncs.get(0).getInt("segments"));
    assertEquals(1, syncs.get(1).getInt("segments"));
    assertEquals(stats.syncs(), sum(syncs, e -> e.getInt("segments")));
    assertEquals(stats.logBytes(), sum(syncs, e -> e.getLong("bytes")));
    assertTrue(syncs.get(1).getLong("bytes") > 100);
    assertTrue(syncs.get(1).getLong("bytes") < 300);
  }

  @Test
  void stallsTellTheirCause() throws IOException {
    Recording recording = recording();
    StoreStats stats;
    try (StorageEngine engine = open()) {
      recording.start();
      flushSome(engine, Engines.TINY.levelZero().slowdownTables());
      put(engine, 100, 300_000);
      flushSome(
          engine,
          Engines.TINY.levelZero().stopTables() - Engines.TINY.levelZero().slowdownTables());
      put(engine, 101, 10);
      scheduler.runAll();
      for (int i = 0; i < 500; i++) {
        put(engine, i, 40);
      }
      stats = engine.stats();
      recording.stop();
    }
    List<RecordedEvent> stalls = only(end(recording), "io.kvsep.WriteStall");

    assertEquals(stats.stalls(), stalls.size());
    RecordedEvent slowdown = stalls.get(0);
    assertEquals("level 0 slow-down", slowdown.getString("cause"));
    assertEquals(Engines.TINY.levelZero().slowdownTables(), slowdown.getInt("levelZeroTables"));
    assertTrue(slowdown.getDuration("delayNanos").toNanos() >= 1_000_000);
    RecordedEvent stop =
        stalls.stream().filter(e -> e.getString("cause").equals("level 0 full")).toList().get(0);
    assertEquals(Engines.TINY.levelZero().stopTables(), stop.getInt("levelZeroTables"));
    assertEquals(0, stop.getLong("delayNanos"));
    RecordedEvent full =
        stalls.stream().filter(e -> e.getString("cause").equals("memtables full")).toList().get(0);
    assertEquals(Engines.TINY.memtables().countMax(), full.getInt("memtables"));
  }

  private static void flushSome(StorageEngine engine, int tables) {
    for (int i = 0; i < tables; i++) {
      put(engine, i, 10);
      engine.flush();
    }
  }

  @Test
  void eventsWithoutARecordingAllocateNothing() {
    assertNull(FlightEvents.beginFlush());
    assertNull(FlightEvents.beginCompaction());
    assertNull(FlightEvents.beginReclaim());
    assertNull(FlightEvents.beginWriteStall());
    assertNull(FlightEvents.beginLogSync());
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    // The JVM charges a thread for what it does for it, such as linking a call site, so a round may
    // show a little. What the calls allocate shows in every round.
    long least = Long.MAX_VALUE;
    for (int round = 0; round < 20; round++) {
      long before = threads.getCurrentThreadAllocatedBytes();
      long measuring = threads.getCurrentThreadAllocatedBytes() - before;
      before = threads.getCurrentThreadAllocatedBytes();
      for (int i = 0; i < 10_000; i++) {
        FlightEvents.beginFlush();
        FlightEvents.beginCompaction();
        FlightEvents.beginReclaim();
        FlightEvents.beginWriteStall();
        FlightEvents.beginLogSync();
      }
      least = Math.min(least, threads.getCurrentThreadAllocatedBytes() - before - measuring);
    }
    assertEquals(0, least);
  }

  @Test
  void eventsBeginWithARecordingAndEndWithIt() {
    assertNull(FlightEvents.beginLogSync());
    try (Recording recording = recording()) {
      recording.start();
      assertNotNull(FlightEvents.beginLogSync());
      recording.disable("io.kvsep.LogSync");
      assertNull(FlightEvents.beginLogSync());
      assertNotNull(FlightEvents.beginFlush());
    }
    assertNull(FlightEvents.beginFlush());
  }

  @Test
  void everyEventIsDocumented() throws IOException {
    Set<String> documented = new TreeSet<>();
    String event = "";
    for (List<String> row : Documents.rows("metrics.md", "event")) {
      if (!row.get(0).isEmpty()) {
        event = row.get(0);
        documented.add(event + " recorded " + row.get(1));
      } else {
        documented.add(event + " " + row.get(2) + " " + row.get(3));
      }
    }

    try (Recording recording = recording()) {
      recording.start();
      assertNotNull(FlightEvents.beginFlush());
      assertNotNull(FlightEvents.beginCompaction());
      assertNotNull(FlightEvents.beginReclaim());
      assertNotNull(FlightEvents.beginWriteStall());
      assertNotNull(FlightEvents.beginLogSync());
      Set<String> actual = new TreeSet<>();
      FlightRecorder.getFlightRecorder().getEventTypes().stream()
          .filter(type -> type.getName().startsWith("io.kvsep."))
          .flatMap(FlightEventsTest::facts)
          .forEach(actual::add);
      assertEquals(documented, actual);
    }
  }

  private static Stream<String> facts(EventType type) {
    assertEquals(List.of("kvsep"), type.getCategoryNames());
    List<String> facts = new ArrayList<>();
    String threshold =
        type.getSettingDescriptors().stream()
            .filter(setting -> setting.getName().equals("threshold"))
            .map(SettingDescriptor::getDefaultValue)
            .findFirst()
            .orElse("");
    String when = threshold.startsWith("0 ") ? "always" : "from " + threshold;
    facts.add(type.getName() + " recorded " + when);
    for (ValueDescriptor field : type.getFields()) {
      boolean common =
          List.of("startTime", "duration", "eventThread", "stackTrace", "store")
              .contains(field.getName());
      if (!common) {
        facts.add(type.getName() + " " + field.getName() + " " + unit(field));
      }
    }
    return facts.stream();
  }

  private static String unit(ValueDescriptor field) {
    if (field.getAnnotation(DataAmount.class) != null) {
      return "bytes";
    }
    Timespan timespan = field.getAnnotation(Timespan.class);
    return timespan == null ? "" : timespan.value().toLowerCase(Locale.ROOT);
  }
}
