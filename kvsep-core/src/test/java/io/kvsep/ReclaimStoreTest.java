package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.testing.ManualClock;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Reclaim as a user meets it: space comes back, entries stay as they are. */
final class ReclaimStoreTest {
  private static final int KEYS = 400;
  private static final int VALUE_BYTES = 10_000;

  @TempDir Path directory;

  private final ManualClock clock = new ManualClock(1_000_000);
  private final Random random = new Random(11);
  private final TreeMap<String, byte[]> model = new TreeMap<>();

  /** Segments so short that there are several, and nothing done unless asked for. */
  private KvOptions.Builder options() {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .segmentBytes(1 << 20)
        .spaceAmplificationMax(100)
        .valueCompression(ValueCompression.NONE)
        .clock(clock);
  }

  private KvStore open() {
    return KvStore.open(directory, options().build());
  }

  private byte[] value() {
    byte[] value = new byte[VALUE_BYTES];
    random.nextBytes(value);
    return value;
  }

  private static byte[] key(int index) {
    return name(index).getBytes(UTF_8);
  }

  private static String name(int index) {
    return "key-%04d".formatted(index);
  }

  /** Every {@code step}th key. */
  private void put(KvStore store, int step) {
    for (int i = 0; i < KEYS; i += step) {
      byte[] value = value();
      store.put(key(i), value);
      model.put(name(i), value);
    }
  }

  private void check(KvReader reader) {
    for (int i = 0; i < KEYS; i++) {
      assertArrayEquals(model.get(name(i)), reader.get(key(i)), name(i));
    }
    try (KvCursor cursor = reader.cursor()) {
      for (Map.Entry<String, byte[]> entry : model.entrySet()) {
        assertTrue(cursor.next());
        assertEquals(entry.getKey(), new String(cursor.key(), UTF_8));
        assertArrayEquals(entry.getValue(), cursor.value());
      }
      assertFalse(cursor.next());
    }
  }

  private long logFileBytes() throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .filter(file -> file.toString().endsWith(".vlog"))
          .mapToLong(file -> file.toFile().length())
          .sum();
    }
  }

  @Test
  void theLimitIsCheckedWithTheOtherOptions() {
    assertEquals(1.5, KvOptions.defaults().spaceAmplificationMax());
    for (double limit : new double[] {1.05, 2, 100}) {
      KvOptions options = KvOptions.builder().spaceAmplificationMax(limit).build();
      assertEquals(limit, options.spaceAmplificationMax());
    }
    for (double limit :
        new double[] {Double.NaN, 1.049, 1, 0, -2, 100.01, Double.POSITIVE_INFINITY}) {
      KvOptions.Builder wrong = KvOptions.builder().spaceAmplificationMax(limit);
      String message = assertThrows(IllegalArgumentException.class, wrong::build).getMessage();
      assertEquals(
          "invalid options: spaceAmplificationMax must be from 1.05 to 100, is " + limit, message);
    }
  }

  @Test
  void theReportTellsWhatBecameOfTheFiles() throws IOException {
    try (KvStore store = open()) {
      put(store, 1);
      put(store, 2);
      store.flush();
      long before = store.stats().logBytes();
      int segments = store.stats().logSegments();

      ReclaimReport report = store.reclaim();

      assertEquals(segments, report.filesExamined());
      assertTrue(report.filesRewritten() > 0, report::toString);
      assertTrue(report.filesRewritten() <= report.filesExamined(), report::toString);
      assertTrue(report.filesRemoved() >= report.filesRewritten(), report::toString);
      assertTrue(report.filesRemoved() <= report.filesExamined(), report::toString);
      assertTrue(report.bytesRead() >= KEYS / 4 * VALUE_BYTES, report::toString);
      assertTrue(report.bytesRead() <= KEYS * (VALUE_BYTES + 100L), report::toString);
      assertTrue(report.bytesWritten() >= report.bytesRead(), report::toString);
      assertTrue(report.bytesWritten() <= report.bytesRead() * 1.01 + 4096, report::toString);
      assertTrue(report.bytesFreed() >= KEYS / 2 * VALUE_BYTES, report::toString);
      assertTrue(report.seconds() >= 0 && report.seconds() < 3_600, report::toString);
      assertEquals(List.of(), report.damagedFiles());
      StoreStats after = store.stats();
      assertEquals(before - report.bytesFreed(), after.logBytes() - after.pinned().logBytes());
      assertTrue(after.logLiveBytes() >= KEYS * VALUE_BYTES);
      assertTrue(after.logBytes() - after.pinned().logBytes() <= 1.1 * after.logLiveBytes());
      check(store);
    }
    try (KvStore store = open()) {
      check(store);
      assertEquals(store.stats().logBytes(), logFileBytes());
      assertTrue(store.stats().spaceAmplification() < 1.1, store.stats()::toString);
    }
  }

  @Test
  void figuresAddUpBeforeAndAfter() {
    try (KvStore store = open()) {
      put(store, 1);
      put(store, 2);
      checkFigures(store);
      store.flush();
      checkFigures(store);
      long reclaimable = store.stats().reclaim().reclaimableBytes();
      assertTrue(reclaimable > 1_000_000, () -> reclaimable + " bytes of garbage");
      assertFalse(store.segments().stream().anyMatch(SegmentStats::relocated));

      try (KvCursor cursor = store.cursor()) {
        ReclaimReport report = store.reclaim();
        assertTrue(cursor.next());
        checkFigures(store);
        StoreStats stats = store.stats();
        assertEquals(report.filesRewritten(), stats.reclaim().filesRewritten());
        assertEquals(report.bytesRead(), stats.reclaim().bytesRead());
        assertEquals(report.bytesWritten(), stats.reclaim().bytesWritten());
        assertEquals(List.of(), stats.reclaim().damagedFiles());
        assertTrue(stats.deviceBytesWritten() > report.bytesWritten());
        assertTrue(stats.pinned().segments() > 0);
      }
      checkFigures(store);
      StoreStats after = store.stats();
      assertEquals(0, after.pinned().segments());
      assertTrue(after.reclaim().reclaimableBytes() < 400_000, after::toString);
      assertTrue(store.segments().stream().anyMatch(SegmentStats::relocated));
      // Once more: relocated files are rewritten as well.
      put(store, 4);
      store.reclaim();
      checkFigures(store);
      check(store);
    }
    try (KvStore store = open()) {
      checkFigures(store);
      assertEquals(0, store.stats().reclaim().filesRewritten());
    }
    try (KvStore store = KvStore.open(directory, options().readOnly(true).build())) {
      checkFigures(store);
    }
  }

  private static void checkFigures(KvStore store) {
    StoreStats stats = store.stats();
    List<SegmentStats> files = store.segments();
    assertEquals(stats.logSegments(), files.size());
    assertEquals(stats.logBytes(), files.stream().mapToLong(SegmentStats::bytes).sum());
    assertEquals(stats.logLiveBytes(), files.stream().mapToLong(SegmentStats::liveBytes).sum());
    List<SegmentStats> pinned = files.stream().filter(SegmentStats::pinned).toList();
    assertEquals(stats.pinned().segments(), pinned.size());
    assertEquals(stats.pinned().logBytes(), pinned.stream().mapToLong(SegmentStats::bytes).sum());
    assertEquals(0, pinned.stream().mapToLong(SegmentStats::liveBytes).sum());
    for (SegmentStats file : files) {
      assertTrue(file.liveBytes() <= file.bytes(), file::toString);
      assertTrue(file.file().endsWith(".vlog"), file::toString);
    }
    assertTrue(stats.logLiveBytes() >= KEYS * VALUE_BYTES, stats::toString);
    double stored = stats.logBytes() + stats.tableBytes();
    double live = stats.logLiveBytes() + stats.tableBytes() - stats.pinned().tableBytes();
    assertEquals(stored / live, stats.spaceAmplification(), 1e-9);
  }

  @Test
  void aStoreInOrderIsLeftAsItIs() {
    try (KvStore store = open()) {
      put(store, 1);
      store.reclaim();
      long written = store.stats().deviceBytesWritten();

      ReclaimReport second = store.reclaim();

      assertEquals(0, second.filesRewritten());
      assertEquals(0, second.bytesRead() + second.bytesWritten() + second.bytesFreed());
      assertTrue(store.stats().deviceBytesWritten() - written < 100_000, "no values");
      check(store);
    }
  }

  @Test
  void anEmptyStoreHasNothingToGive() {
    try (KvStore store = open()) {
      ReclaimReport report = store.reclaim();
      assertEquals(0, report.filesRewritten());
      assertEquals(0, report.bytesFreed());
      check(store);
    }
  }

  @Test
  void deletedKeysNeverComeBack() {
    try (KvStore store = open()) {
      put(store, 1);
      put(store, 3);
      store.flush();
      for (int i = 0; i < KEYS; i += 2) {
        store.delete(key(i));
        model.remove(name(i));
      }
      store.deleteRange(key(300), key(350));
      model.subMap(name(300), name(350)).clear();
      assertTrue(store.reclaim().bytesFreed() > 0);
      check(store);
    }
    for (int round = 0; round < 3; round++) {
      try (KvStore store = open()) {
        check(store);
        assertNull(store.get(key(300)));
        store.delete(key(2 * round + 1));
        model.remove(name(2 * round + 1));
        put(store, 7);
        store.reclaim();
        check(store);
      }
    }
    try (KvStore store = open()) {
      check(store);
    }
  }

  @Test
  void nothingIsLeftOfWhatWasDeletedWhole() throws IOException {
    try (KvStore store = open()) {
      put(store, 1);
      store.deleteRange(key(0), key(KEYS));
      model.clear();
      ReclaimReport report = store.reclaim();
      assertEquals(0, report.bytesRead());
      assertTrue(report.bytesFreed() >= KEYS * VALUE_BYTES, report::toString);
      check(store);
    }
    assertEquals(0, logFileBytes());
  }

  @Test
  void aStoreForReadingOnlyRefuses() {
    try (KvStore store = open()) {
      put(store, 1);
      put(store, 1);
    }
    try (KvStore store = KvStore.open(directory, options().readOnly(true).build())) {
      ReadOnlyStoreException flush = assertThrows(ReadOnlyStoreException.class, store::flush);
      ReadOnlyStoreException reclaim = assertThrows(ReadOnlyStoreException.class, store::reclaim);
      assertEquals(flush.getMessage(), reclaim.getMessage());
      assertEquals(flush.getClass(), reclaim.getClass());
      check(store);
    }
  }

  @Test
  void keyspacesKeepTheirEntriesAndDroppedOnesGiveTheirSpaceBack() {
    TreeMap<Integer, byte[]> kept = new TreeMap<>();
    try (KvStore store = open()) {
      Keyspace users = store.keyspace("users");
      Keyspace logs = store.keyspace("logs");
      // Side by side in the log, so that each segment has some of both.
      for (int i = 0; i < KEYS; i++) {
        byte[] value = value();
        kept.put(i, value);
        store.write(new WriteBatch().in(users).put(key(i), value).in(logs).put(key(i), value()));
      }
      store.flush();
      store.dropKeyspace(logs);

      ReclaimReport report = store.reclaim();

      assertTrue(report.bytesFreed() >= KEYS * VALUE_BYTES, report::toString);
      kept.forEach((i, value) -> assertArrayEquals(value, store.in(users).get(key(i))));
    }
    try (KvStore store = open()) {
      assertEquals(List.of("users"), store.keyspaces());
      KvView users = store.in(store.keyspace("users"));
      kept.forEach((i, value) -> assertArrayEquals(value, users.get(key(i))));
      assertNull(store.in(store.keyspace("logs")).get(key(1)));
      check(store);
    }
  }

  @Test
  void whatHasExpiredGivesItsSpaceBackAndOthersExpireAsTheyWould() {
    Duration minute = Duration.ofMinutes(1);
    try (KvStore store = open()) {
      for (int i = 0; i < KEYS; i++) {
        store.put(key(i), value(), i % 2 == 0 ? minute : minute.multipliedBy(10));
      }
      store.flush();
      clock.advance(minute.toMillis());
      ReclaimReport report = store.reclaim();
      assertTrue(report.bytesFreed() >= KEYS / 2 * VALUE_BYTES, report::toString);
      assertExpired(store, 0);
      assertPresent(store.get(key(1)));
    }
    clock.advance(8 * minute.toMillis());
    try (KvStore store = open()) {
      assertExpired(store, 0);
      assertPresent(store.get(key(1)));
      store.reclaim();
      assertPresent(store.get(key(1)));
      clock.advance(minute.toMillis());
      assertExpired(store, 1);
      store.reclaim();
      assertEquals(0, store.stats().logBytes() - store.stats().pinned().logBytes());
    }
  }

  private static void assertExpired(KvStore store, int index) {
    assertNull(store.get(key(index)));
    assertFalse(store.contains(key(index)));
  }

  private static void assertPresent(byte @Nullable [] value) {
    assertNotNull(value);
    assertEquals(VALUE_BYTES, value.length);
  }

  @Test
  void snapshotsAndCursorsSeeWhatTheySaw() {
    try (KvStore store = open()) {
      put(store, 1);
      store.flush();
      TreeMap<String, byte[]> old = new TreeMap<>(model);
      try (Snapshot snapshot = store.snapshot();
          KvCursor cursor = store.cursor()) {
        put(store, 2);
        store.delete(key(1));
        model.remove(name(1));
        ReclaimReport report = store.reclaim();
        assertTrue(report.filesExamined() > 0, report::toString);
        for (Map.Entry<String, byte[]> entry : old.entrySet()) {
          byte[] key = entry.getKey().getBytes(UTF_8);
          assertArrayEquals(entry.getValue(), snapshot.get(key));
          assertTrue(cursor.next());
          assertArrayEquals(key, cursor.key());
          assertArrayEquals(entry.getValue(), cursor.value());
        }
        check(store);
      }
      ReclaimReport report = store.reclaim();
      assertTrue(report.bytesFreed() >= KEYS / 2 * VALUE_BYTES, report::toString);
      check(store);
    }
  }

  @Test
  void aDamagedRecordKeepsItsFileAndOthersAreRewritten() throws IOException {
    try (KvStore store = open()) {
      put(store, 1);
      put(store, 2);
      store.flush();
    }
    byte[] lost = model.get(name(7));
    assertNotNull(lost);
    String damaged = damage(lost);
    try (KvStore store = open()) {
      ReclaimReport report = store.reclaim();

      assertEquals(List.of(damaged), report.damagedFiles());
      assertEquals(List.of(damaged), store.stats().reclaim().damagedFiles());
      assertTrue(report.filesRewritten() > 0, report::toString);
      assertTrue(report.bytesFreed() > 0, report::toString);
      assertTrue(Files.exists(directory.resolve(damaged)));
      CorruptionException error = assertThrows(CorruptionException.class, () -> store.get(key(7)));
      assertEquals(damaged, error.file());
      store.delete(key(7));
      model.remove(name(7));
      check(store);
      assertEquals(List.of(damaged), store.reclaim().damagedFiles(), "until it is opened again");
    }
    try (KvStore store = open()) {
      assertEquals(List.of(), store.reclaim().damagedFiles(), "nothing needs the record any more");
      assertFalse(Files.exists(directory.resolve(damaged)));
      check(store);
    }
  }

  @Test
  void aDamagedFileThatIsGoneIsNamedNoLonger() throws IOException {
    try (KvStore store = open()) {
      put(store, 1);
    }
    byte[] lost = model.get(name(7));
    assertNotNull(lost);
    String damaged = damage(lost);
    try (KvStore store = open()) {
      store.deleteRange(key(8), key(KEYS));
      store.deleteRange(key(0), key(7));
      assertEquals(List.of(damaged), store.reclaim().damagedFiles());
      store.delete(key(7));
      assertEquals(List.of(), store.reclaim().damagedFiles());
      assertEquals(List.of(), store.stats().reclaim().damagedFiles());
      assertFalse(Files.exists(directory.resolve(damaged)));
    }
  }

  /** Flips a bit in the middle of the value; the name of the file it is in. */
  private String damage(byte[] value) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      for (Path file : files.filter(f -> f.toString().endsWith(".vlog")).toList()) {
        byte[] bytes = Files.readAllBytes(file);
        int at = new String(bytes, ISO_8859_1).indexOf(new String(value, ISO_8859_1));
        if (at >= 0) {
          bytes[at + value.length / 2] ^= 1;
          Files.write(file, bytes);
          return file.getFileName().toString();
        }
      }
    }
    throw new AssertionError("no file has the value");
  }
}
