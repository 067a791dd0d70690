package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreClosedException;
import io.kvsep.testing.Documents;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MockClock;
import io.micrometer.core.instrument.Tag;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.composite.CompositeMeterRegistry;
import io.micrometer.core.instrument.simple.SimpleConfig;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.io.IOException;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A store's figures as a monitoring system sees them. */
final class KvMetricsTest {
  private static final Tags TAGS = Tags.of("store", "orders");

  @TempDir Path directory;

  private final MockClock clock = new MockClock();
  private final SimpleMeterRegistry registry = new SimpleMeterRegistry(SimpleConfig.DEFAULT, clock);

  private static byte[] bytes(String text) {
    return text.getBytes(UTF_8);
  }

  private double value(String name, String... tags) {
    Meter meter = registry.get(name).tags(TAGS).tags(tags).meter();
    return meter.measure().iterator().next().getValue();
  }

  private long amount(String name, String... tags) {
    return (long) value(name, tags);
  }

  private void later() {
    clock.add(Duration.ofSeconds(1));
  }

  @Test
  void metersShowTheFiguresOfStats() {
    try (KvStore store = KvStore.open(directory)) {
      KvMetrics.bindTo(store, registry, TAGS);
      for (int i = 0; i < 1_000; i++) {
        store.put(bytes("key" + i), new byte[2_000]);
      }
      store.sync();
      Snapshot snapshot = store.snapshot();
      KvCursor cursor = store.cursor();
      store.flush();
      store.put(bytes("one more"), new byte[2_000]);
      // Else it is synced within a second, perhaps between two of the figures.
      store.sync();
      later();

      StoreStats stats = store.stats();
      assertEquals(1_001, value("kvsep.entries"));
      assertEquals(10 * 4 + 90 * 5 + 900 * 6 + 8, stats.keyBytes());
      assertEquals(stats.keyBytes(), amount("kvsep.keys"));
      assertEquals(stats.logBytes(), amount("kvsep.log.used"));
      assertEquals(stats.logLiveBytes(), amount("kvsep.log.live"));
      assertEquals(1, value("kvsep.log.segments"));
      assertEquals(stats.tableBytes(), amount("kvsep.tables.used"));
      assertEquals(1, value("kvsep.level.tables", "level", "0"));
      assertEquals(stats.tableBytes(), amount("kvsep.level.used", "level", "0"));
      assertEquals(0, amount("kvsep.level.used", "level", "6"));
      assertEquals(stats.userBytesWritten(), amount("kvsep.user.written"));
      assertEquals(stats.deviceBytesWritten(), amount("kvsep.device.written"));
      assertEquals(stats.logBytesWritten(), amount("kvsep.log.written"));
      assertTrue(stats.logBytesWritten() < stats.deviceBytesWritten(), "tables were written too");
      assertTrue(stats.logBytesWritten() >= stats.logBytes());
      assertEquals(1_001, value("kvsep.commits"));
      assertEquals(stats.syncs(), amount("kvsep.log.syncs"));
      assertEquals(1, value("kvsep.flushes"));
      assertEquals(0, value("kvsep.write.stalls"));
      long memtableBytes = stats.memoryBytes().getOrDefault("memtable", 0L);
      assertTrue(memtableBytes > 0);
      assertEquals(memtableBytes, amount("kvsep.memory.used", "purpose", "memtable"));
      assertEquals(1, value("kvsep.snapshots.open"));
      assertEquals(1, value("kvsep.cursors.open"));
      assertTrue(value("kvsep.snapshots.oldest") > 0);
      assertTrue(value("kvsep.snapshots.oldest") < 3_600, "seconds");
      assertEquals(memtableBytes / 2, amount("kvsep.pinned.used", "kind", "memtable"));
      snapshot.close();
      cursor.close();
    }
  }

  @Test
  void metersShowWhatReclaimDid() {
    KvOptions options =
        KvOptions.builder().segmentBytes(1 << 20).valueCompression(ValueCompression.NONE).build();
    try (KvStore store = KvStore.open(directory, options)) {
      KvMetrics.bindTo(store, registry, TAGS);
      for (int i = 0; i < 2_000; i++) {
        store.put(bytes("key" + i % 1_500), new byte[2_000]);
      }
      ReclaimReport report = store.reclaim();
      later();

      StoreStats stats = store.stats();
      assertTrue(report.filesRewritten() > 0, report::toString);
      assertEquals(stats.reclaim().filesRewritten(), amount("kvsep.reclaim.files"));
      assertEquals(stats.reclaim().bytesRead(), amount("kvsep.reclaim.read"));
      assertEquals(stats.reclaim().bytesWritten(), amount("kvsep.reclaim.written"));
      assertEquals(stats.reclaim().reclaimableBytes(), amount("kvsep.log.reclaimable"));
      assertEquals(0, value("kvsep.reclaim.damaged"));
    }
  }

  @Test
  void oneScrapeAsksTheStoreOnce() {
    try (KvStore store = KvStore.open(directory)) {
      AtomicInteger calls = new AtomicInteger();
      KvStore counting = counting(store, calls);
      KvMetrics.bindTo(counting, registry, TAGS);
      calls.set(0);
      readAll();
      assertEquals(1, calls.get());
      readAll();
      assertEquals(2, calls.get());
      value("kvsep.commits");
      assertEquals(3, calls.get());
      clock.add(Duration.ofMillis(9));
      value("kvsep.entries");
      assertEquals(3, calls.get());
      clock.add(Duration.ofMillis(1));
      value("kvsep.flushes");
      assertEquals(4, calls.get());
      assertTrue(counting.stats().commits() >= 0, "held until here");
    }
  }

  /** No thread waits for a scrape, and the clock of a test may stand still. */
  @Test
  void whatWasJustWrittenIsShown() {
    try (KvStore store = KvStore.open(directory)) {
      KvMetrics.bindTo(store, registry, TAGS);
      for (int i = 1; i <= 3; i++) {
        store.put(bytes("key" + i), bytes("value"));
        assertEquals(i, value("kvsep.commits"));
        assertEquals(i, value("kvsep.entries"));
      }
    }
  }

  private static KvStore counting(KvStore store, AtomicInteger calls) {
    return (KvStore)
        Proxy.newProxyInstance(
            KvStore.class.getClassLoader(),
            new Class<?>[] {KvStore.class},
            (proxy, method, arguments) -> {
              if (method.getName().equals("stats")) {
                calls.incrementAndGet();
                return store.stats();
              }
              throw new AssertionError("not asked for: " + method);
            });
  }

  private void readAll() {
    registry.getMeters().forEach(meter -> meter.measure().forEach(m -> m.getValue()));
  }

  @Test
  void afterCloseGaugesAreNotANumberAndCountersKeepTheirLast() {
    KvStore store = KvStore.open(directory);
    KvMetrics.bindTo(store, registry, TAGS);
    store.put(bytes("key"), bytes("value"));
    later();
    assertEquals(1, value("kvsep.commits"));
    store.close();
    later();

    assertEquals(Double.NaN, value("kvsep.entries"));
    assertEquals(Double.NaN, value("kvsep.level.tables", "level", "0"));
    assertEquals(Double.NaN, value("kvsep.cursors.oldest"));
    assertEquals(1, value("kvsep.commits"));
    assertEquals(0, value("kvsep.write.stalls"));
    readAll();
  }

  @Test
  void aClosedStoreIsNotHeld() {
    ReferenceQueue<KvStore> queue = new ReferenceQueue<>();
    WeakReference<KvStore> reference = closedAndBound(queue);

    for (int i = 0; i < 100 && !reference.refersTo(null); i++) {
      System.gc();
    }

    assertNull(reference.get());
    assertFalse(registry.getMeters().isEmpty());
    later();
    assertEquals(Double.NaN, value("kvsep.entries"));
    assertEquals(0, value("kvsep.commits"));
  }

  private WeakReference<KvStore> closedAndBound(ReferenceQueue<KvStore> queue) {
    KvStore store = KvStore.open(directory);
    KvMetrics.bindTo(store, registry, TAGS);
    store.close();
    return new WeakReference<>(store, queue);
  }

  @Test
  void aStoreThatIsOpenedAgainTakesOver() {
    KvStore closed = KvStore.open(directory);
    KvMetrics first = KvMetrics.bindTo(closed, registry, TAGS);
    int meters = registry.getMeters().size();
    closed.put(bytes("key"), bytes("value"));
    closed.close();
    try (KvStore store = KvStore.open(directory)) {
      KvMetrics second = KvMetrics.bindTo(store, registry, TAGS);
      assertEquals(meters, registry.getMeters().size());
      assertEquals(1, value("kvsep.entries"));

      first.close();
      assertEquals(meters, registry.getMeters().size(), "they belong to the second one");
      assertEquals(1, value("kvsep.entries"));
      second.close();
      assertEquals(List.of(), registry.getMeters());
      second.close();
    }
  }

  @Test
  void storesAreToldApartByTheirTags() {
    try (KvStore one = KvStore.open(directory.resolve("one"));
        KvStore two = KvStore.open(directory.resolve("two"))) {
      one.put(bytes("key"), bytes("value"));
      KvMetrics.bindTo(one, registry, TAGS);
      KvMetrics other = KvMetrics.bindTo(two, registry, Tags.of("store", "events"));

      assertEquals(1, value("kvsep.entries"));
      assertEquals(0, registry.get("kvsep.entries").tag("store", "events").gauge().value());
      other.close();
      assertNull(registry.find("kvsep.entries").tag("store", "events").gauge());
      assertEquals(1, value("kvsep.entries"));
    }
  }

  @Test
  void aCompositeRegistryWorksToo() {
    CompositeMeterRegistry composite = new CompositeMeterRegistry(clock);
    composite.add(registry);
    try (KvStore store = KvStore.open(directory)) {
      KvMetrics metrics = KvMetrics.bindTo(store, composite, TAGS);
      store.put(bytes("key"), bytes("value"));
      later();
      assertEquals(1, value("kvsep.entries"));
      assertEquals(1, value("kvsep.commits"));
      metrics.close();
      assertEquals(List.of(), registry.getMeters());
    }
  }

  @Test
  void aClosedStoreCannotBeBound() {
    KvStore store = KvStore.open(directory);
    store.close();

    assertThrows(StoreClosedException.class, () -> KvMetrics.bindTo(store, registry, TAGS));
    assertEquals(List.of(), registry.getMeters());
  }

  @Test
  void everyMeterIsDocumented() throws IOException {
    Set<String> documented = new TreeSet<>();
    for (List<String> row : Documents.rows("metrics.md", "meter")) {
      String tag = row.get(3).replaceFirst(":.*", "");
      documented.add(String.join(" ", row.get(0), row.get(1), row.get(2), tag));
    }

    Set<String> actual = new TreeSet<>();
    try (KvStore store = KvStore.open(directory)) {
      KvMetrics.bindTo(store, registry, Tags.empty());
      for (Meter meter : registry.getMeters()) {
        Meter.Id id = meter.getId();
        String tag = id.getTags().stream().map(Tag::getKey).findFirst().orElse("");
        actual.add(
            String.join(" ", id.getName(), typeOf(id.getType()), unit(id.getBaseUnit()), tag));
      }
    }
    assertEquals(documented, actual);
  }

  @Test
  void everyFigureHasAMeter() throws IOException {
    Set<String> documented = new TreeSet<>();
    for (List<String> row : Documents.rows("metrics.md", "meter")) {
      documented.addAll(Arrays.asList(row.get(4).split(", ")));
    }
    Set<String> figures = new TreeSet<>();
    Arrays.stream(StoreStats.class.getRecordComponents()).forEach(c -> figures.add(c.getName()));

    assertEquals(figures, documented);
  }

  private static String typeOf(Meter.Type type) {
    return type.name().toLowerCase(Locale.ROOT);
  }

  private static String unit(@Nullable String unit) {
    return unit == null ? "" : unit;
  }
}
