package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.GoldenContent.Entry;
import io.kvsep.testing.ManualClock;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipInputStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Stores that earlier builds have written, in {@code src/test/resources/golden}, open, hold what
 * they held, and can be written to. Where a format changes, the files of the present build are
 * added to those of earlier ones:
 *
 * <pre>
 * mvn test -pl kvsep-core -Dtest=GoldenStoresTest -Dkvsep.golden=src/test/resources/golden/2
 * </pre>
 */
final class GoldenStoresTest {
  /** Folders of files, the oldest first. */
  private static final List<String> FORMATS = List.of("1");

  private static final String WRITE_TO = "kvsep.golden";

  @TempDir Path parent;
  private final ManualClock clock = new ManualClock(GoldenContent.READ_MILLIS);
  private Path golden;

  @BeforeEach
  void makeDirectory() throws IOException {
    golden = Files.createDirectory(parent.resolve("golden"));
  }

  private interface Check {
    void of(String format) throws IOException;
  }

  private static void eachFormat(Check check) throws IOException {
    for (String format : FORMATS) {
      check.of(format);
    }
  }

  @Test
  void closedStoresHoldWhatTheyHeld() throws IOException {
    eachFormat(format -> opens(zip(format, "closed.zip"), GoldenContent.closed()));
  }

  @Test
  void crashedStoresHoldWhatWasWritten() throws IOException {
    eachFormat(format -> opens(zip(format, "crashed.zip"), GoldenContent.crashed()));
  }

  @Test
  void aTornFrameIsLeftOut() throws IOException {
    eachFormat(
        format -> {
          Path torn = unpack(zip(format, "crashed.zip"), "torn");
          Path segment = lastSegment(torn);
          byte[] bytes = Files.readAllBytes(segment);
          int end = endOf(bytes);
          Arrays.fill(bytes, end - GoldenContent.lastValue().length / 2, end, (byte) 0);
          Files.write(segment, bytes);
          Map<String, TreeMap<byte[], Entry>> expected = GoldenContent.crashed();
          spaceOf(expected, GoldenContent.DEFAULT).remove(GoldenContent.LAST);
          try (KvStore store = open(torn, false)) {
            assertTrue(store.stats().tornBytes() > 0);
            same(expected, store);
            requireSound(store);
            change(store, expected);
          }
          try (KvStore store = open(torn, true)) {
            same(expected, store);
          }
        });
  }

  @Test
  void backupsRestoreWhatWasBackedUp() throws IOException {
    eachFormat(format -> restores(zip(format, "backups.zip")));
  }

  @Test
  void changesOfTheLogLeadFromOneStoreToTheNext() throws IOException {
    eachFormat(
        format -> {
          long until;
          try (KvStore store = open(unpack(zip(format, "closed.zip"), "closed"), true)) {
            until = lastVersion(store);
          }
          try (KvStore store = open(unpack(zip(format, "crashed.zip"), "crashed"), false)) {
            follows(store, until);
          }
        });
  }

  @Test
  void repairOfASoundStoreLosesNothing() throws IOException {
    eachFormat(
        format -> {
          Path damaged = unpack(zip(format, "closed.zip"), "damaged");
          Path target = parent.resolve("repaired");
          assertTrue(KvStore.repair(damaged, target, options().build()).isComplete());
          try (KvStore store = open(target, false)) {
            same(GoldenContent.closed(), store);
          }
        });
  }

  @Test
  void storesOfThisBuildHoldTheSame() throws IOException {
    String written = System.getProperty(WRITE_TO);
    Path directory = written == null ? golden : Files.createDirectories(Path.of(written));
    GoldenStores.write(directory);
    opens(directory.resolve("closed.zip"), GoldenContent.closed());
    opens(directory.resolve("crashed.zip"), GoldenContent.crashed());
    restores(directory.resolve("backups.zip"));
  }

  @Test
  void goldenStoresHaveAllKindsOfFiles() throws IOException {
    eachFormat(
        format -> {
          try (KvStore store = open(unpack(zip(format, "closed.zip"), "kinds"), true)) {
            List<StoreStats.Level> levels = store.stats().levels();
            assertTrue(levels.get(0).tables() > 0, levels::toString);
            assertTrue(
                levels.subList(2, levels.size()).stream().anyMatch(level -> level.tables() > 0),
                levels::toString);
            assertTrue(store.segments().stream().anyMatch(SegmentStats::relocated));
          }
          byte[] last =
              Files.readAllBytes(lastSegment(unpack(zip(format, "crashed.zip"), "segments")));
          assertTrue(last.length - endOf(last) > 1000, "preallocated space");
        });
  }

  /** The last one with a frame. */
  private static Path lastSegment(Path store) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      return files
          .filter(file -> file.toString().endsWith(".vlog"))
          .filter(GoldenStoresTest::hasFrames)
          .max(Path::compareTo)
          .orElseThrow();
    }
  }

  private static boolean hasFrames(Path segment) {
    try {
      byte[] bytes = Files.readAllBytes(segment);
      return new String(bytes, 0, 8, ISO_8859_1).equals("KVSEPLOG") && bytes.length > 40;
    } catch (IOException e) {
      throw new AssertionError(e);
    }
  }

  /** Behind the last byte that is not zero. */
  private static int endOf(byte[] bytes) {
    int end = bytes.length;
    while (bytes[end - 1] == 0) {
      end--;
    }
    return end;
  }

  private void opens(Path zip, Map<String, TreeMap<byte[], Entry>> expected) throws IOException {
    String name = String.valueOf(zip.getFileName()) + zip.hashCode();
    Path read = unpack(zip, name + "-read");
    Map<String, byte[]> before = files(read);
    try (KvStore store = open(read, true)) {
      same(expected, store);
      requireSound(store);
      assertEquals(name.contains("crashed"), store.stats().replayedBytes() > 0);
      // The crashed store of the first format ends with preallocated zeros, a torn tail.
      assertTrue(name.contains("crashed") || store.stats().tornBytes() == 0, name);
    }
    Map<String, byte[]> after = files(read);
    assertEquals(before.keySet(), after.keySet());
    before.forEach((file, bytes) -> assertArrayEquals(bytes, after.get(file), file));

    Path written = unpack(zip, name + "-write");
    try (KvStore store = open(written, false)) {
      same(expected, store);
      requireSound(store);
      change(store, expected);
      same(expected, store);
    }
    try (KvStore store = open(written, false)) {
      same(expected, store);
      store.compact();
      same(expected, store);
      store.reclaim();
      same(expected, store);
      requireSound(store);
    }
    try (KvStore store = open(written, true)) {
      same(expected, store);
      requireSound(store);
    }
  }

  private void restores(Path zip) throws IOException {
    Map<String, byte[]> backups = read(zip);
    try (KvStore store = open(parent.resolve("restored-" + zip.hashCode()), false)) {
      restore(store, backups.get("complete.backup"));
      same(GoldenContent.closed(), store);
      restore(store, backups.get("later.backup"));
      same(GoldenContent.crashed(), store);
      requireSound(store);
    }
  }

  private static void restore(KvStore store, byte @Nullable [] backup) {
    assertNotNull(backup);
    store.restore(new ByteArrayInputStream(backup));
  }

  /** Puts, deletes and range deletes in every keyspace. */
  private static void change(KvStore store, Map<String, TreeMap<byte[], Entry>> expected) {
    expected.forEach(
        (keyspace, entries) -> {
          KvWriter view = keyspace.isEmpty() ? store : store.in(store.keyspace(keyspace));
          for (int i = 10; i < 30; i++) {
            byte[] value = GoldenContent.value(keyspace, i, 9);
            view.put(GoldenContent.key(i), value);
            entries.put(GoldenContent.key(i), new Entry(value, 0));
          }
          view.delete(GoldenContent.key(12));
          entries.remove(GoldenContent.key(12));
          view.deleteRange(GoldenContent.key(20), GoldenContent.key(50));
          entries.subMap(GoldenContent.key(20), GoldenContent.key(50)).clear();
        });
  }

  /** By scans in both directions, by gets, and with keys that are absent. */
  private static void same(Map<String, TreeMap<byte[], Entry>> expected, KvStore store) {
    List<String> keyspaces =
        expected.keySet().stream().filter(name -> !name.isEmpty()).sorted().toList();
    assertEquals(keyspaces, store.keyspaces().stream().sorted().toList());
    expected.forEach(
        (keyspace, entries) -> {
          KvReader reader = keyspace.isEmpty() ? store : store.in(store.keyspace(keyspace));
          same(entries, reader, ScanOptions.all());
          same(entries.descendingMap(), reader, ScanOptions.all().reverse());
          for (int i = 0; i < GoldenContent.KEYS + GoldenContent.LATE_KEYS; i++) {
            byte[] key = GoldenContent.key(i);
            Entry entry = entries.get(key);
            assertArrayEquals(entry == null ? null : entry.value(), reader.get(key));
            EntryInfo info = reader.info(key);
            assertEquals(entry == null, info == null);
            if (entry != null && info != null) {
              assertEquals(expiry(entry), info.expiresAtMillis());
            }
          }
          assertNull(reader.get("absent".getBytes(ISO_8859_1)));
        });
  }

  private static void same(Map<byte[], Entry> expected, KvReader reader, ScanOptions options) {
    try (KvCursor cursor = reader.cursor(options)) {
      expected.forEach(
          (key, entry) -> {
            assertTrue(cursor.next());
            assertArrayEquals(key, cursor.key());
            assertArrayEquals(entry.value(), cursor.value());
            assertEquals(expiry(entry), cursor.expiresAtMillis());
          });
      assertFalse(cursor.next());
    }
  }

  private static OptionalLong expiry(Entry entry) {
    return entry.expiresAtMillis() == 0
        ? OptionalLong.empty()
        : OptionalLong.of(entry.expiresAtMillis());
  }

  /** Applies what the feed says to the content of the first store. */
  private void follows(KvStore store, long until) {
    Map<String, TreeMap<byte[], Entry>> content = GoldenContent.closed();
    try (ChangeFeed feed = store.changes(until)) {
      for (Change change = feed.poll(); change != null; change = feed.poll()) {
        String keyspace = change.keyspace();
        TreeMap<byte[], Entry> entries = spaceOf(content, keyspace == null ? "" : keyspace);
        switch (change.kind()) {
          case PUT ->
              entries.put(
                  change.key(), new Entry(change.value(), change.expiresAtMillis().orElse(0)));
          case DELETE -> entries.remove(change.key());
          case DELETE_RANGE -> entries.subMap(change.key(), change.toKey()).clear();
        }
      }
    }
    content
        .values()
        .forEach(
            entries ->
                entries
                    .values()
                    .removeIf(e -> e.expiresAtMillis() == GoldenContent.EXPIRED_MILLIS));
    same(content, store);
  }

  private static TreeMap<byte[], Entry> spaceOf(
      Map<String, TreeMap<byte[], Entry>> content, String keyspace) {
    return content.computeIfAbsent(keyspace, name -> new TreeMap<>(Arrays::compareUnsigned));
  }

  private static long lastVersion(KvStore store) {
    long last = 0;
    for (String keyspace : GoldenContent.WRITTEN) {
      KvReader reader = keyspace.isEmpty() ? store : store.in(store.keyspace(keyspace));
      try (KvCursor cursor = reader.cursor()) {
        while (cursor.next()) {
          EntryInfo info = reader.info(cursor.key());
          last = Math.max(last, info == null ? 0 : info.version());
        }
      }
    }
    return last;
  }

  private static void requireSound(KvStore store) {
    VerifyReport report = store.verify();
    assertTrue(report.isSound(), () -> report.problems().toString());
    assertEquals(List.of(), report.unknownFiles());
  }

  private KvOptions.Builder options() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).clock(clock);
  }

  private KvStore open(Path directory, boolean readOnly) {
    return KvStore.open(directory, options().readOnly(readOnly).build());
  }

  private Path zip(String format, String name) throws IOException {
    String resource = "/golden/" + format + "/" + name;
    Path copy = golden.resolve(format + "-" + name);
    try (InputStream input = GoldenStoresTest.class.getResourceAsStream(resource)) {
      assertNotNull(input, resource);
      Files.write(copy, input.readAllBytes());
    }
    return copy;
  }

  private Path unpack(Path zip, String name) throws IOException {
    Path directory = Files.createDirectory(parent.resolve(name));
    for (Map.Entry<String, byte[]> file : read(zip).entrySet()) {
      Files.write(directory.resolve(file.getKey()), file.getValue());
    }
    return directory;
  }

  private static Map<String, byte[]> read(Path zip) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    try (ZipInputStream input = new ZipInputStream(Files.newInputStream(zip))) {
      for (ZipEntry entry = input.getNextEntry(); entry != null; entry = input.getNextEntry()) {
        files.put(entry.getName(), input.readAllBytes());
      }
    }
    return files;
  }

  private static Map<String, byte[]> files(Path directory) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    try (Stream<Path> paths = Files.list(directory)) {
      for (Path path : paths.toList()) {
        files.put(String.valueOf(path.getFileName()), Files.readAllBytes(path));
      }
    }
    return files;
  }
}
