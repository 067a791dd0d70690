package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.testing.Documents;
import io.kvsep.testing.ForwardingFile;
import io.kvsep.testing.Parked;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Faults that other stores with a log of values are known to answer with lost, empty or wrong
 * values, put into real files; the table in docs/internals/testing.md has a row for each.
 */
final class KnownFaultsTest {
  private static final int KEYS = 100;
  private static final int VALUE_BYTES = 4_096;

  @TempDir Path parent;

  private KvOptions.Builder options() {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .segmentBytes(1 << 20)
        .spaceAmplificationMax(100)
        .valueCompression(ValueCompression.NONE);
  }

  private static byte[] key(int number) {
    return "key-%05d".formatted(number).getBytes(UTF_8);
  }

  private static byte[] value(int number, int length) {
    byte[] value = new byte[length];
    new Random(number).nextBytes(value);
    return value;
  }

  private static void put(KvStore store, int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(key(i), value(i, VALUE_BYTES));
    }
  }

  /** The files as they are now, as if the process had been killed. */
  private Path killed(Path store) throws IOException {
    Path copy = Files.createTempDirectory(parent, "killed");
    try (Stream<Path> files = Files.list(store)) {
      for (Path file : files.toList()) {
        Files.copy(file, copy.resolve(file.getFileName()));
      }
    }
    return copy;
  }

  private static List<Path> files(Path store, String suffix) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      return files.filter(file -> file.toString().endsWith(suffix)).sorted().toList();
    }
  }

  private static Path newestSegment(Path store) throws IOException {
    List<Path> segments = files(store, ".vlog");
    return segments.get(segments.size() - 1);
  }

  private static void flip(Path file, long... offsets) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    for (long offset : offsets) {
      bytes[(int) offset] ^= 0x10;
    }
    Files.write(file, bytes);
  }

  private static String name(Path file) {
    return file.getFileName().toString();
  }

  /** Every value is right or an error that names the file; how many are errors. */
  private static int checkAll(KvStore store, int count, int length, String damaged) {
    int errors = 0;
    for (int i = 0; i < count; i++) {
      try {
        assertArrayEquals(value(i, length), store.get(key(i)), "value " + i);
      } catch (CorruptionException e) {
        assertEquals(damaged, e.file());
        errors++;
      }
    }
    return errors;
  }

  /** A log that a process had not closed, everything but the last writes known to be synced. */
  private Path killedWithSyncedLog(int count) throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store, options().durability(Durability.sync()).build())) {
      put(open, 0, count);
      return killed(store);
    }
  }

  @Test
  void aFlippedByteInTheNewestLogIsNotTakenForATornTail() throws IOException {
    Path store = killedWithSyncedLog(KEYS);
    Path segment = newestSegment(store);
    long length = Files.size(segment);
    flip(segment, length / 10);
    CorruptionException error =
        assertThrows(CorruptionException.class, () -> KvStore.open(store, options().build()));
    assertEquals(name(segment), error.file());
    assertTrue(error.offset() > length / 10 - 2 * VALUE_BYTES && error.offset() <= length / 10);
    assertEquals(length, Files.size(segment), "nothing was cut off");
  }

  @Test
  void aFlippedByteAtTheHeadOfTheLogIsNotTakenForAnEmptyOne() throws IOException {
    Path store = killedWithSyncedLog(KEYS);
    Path segment = newestSegment(store);
    long length = Files.size(segment);
    flip(segment, 60);
    assertThrows(CorruptionException.class, () -> KvStore.open(store, options().build()));
    assertEquals(length, Files.size(segment));
  }

  @Test
  void aFlippedByteInTheNewestLogOfAClosedStoreIsAnErrorOfOneValue() throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store, options().build())) {
      put(open, 0, KEYS);
    }
    Path segment = newestSegment(store);
    long length = Files.size(segment);
    flip(segment, length / 10);
    try (KvStore open = KvStore.open(store, options().build())) {
      assertEquals(1, checkAll(open, KEYS, VALUE_BYTES, name(segment)));
    }
    assertEquals(length, Files.size(segment));
  }

  @Test
  void aFlippedByteInAnOldLogIsAnErrorOfOneValue() throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store, options().build())) {
      put(open, 0, 10 * KEYS);
    }
    Path segment = files(store, ".vlog").get(0);
    flip(segment, Files.size(segment) / 2);
    try (KvStore open = KvStore.open(store, options().build())) {
      assertEquals(1, checkAll(open, 10 * KEYS, VALUE_BYTES, name(segment)));
    }
  }

  @Test
  void reclaimKeepsADamagedFileAndEveryOtherValue() throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store, options().build())) {
      put(open, 0, 10 * KEYS);
      for (int i = 10 * KEYS; i < 20 * KEYS; i += 2) {
        open.put(key(i - 10 * KEYS), value(i - 10 * KEYS, VALUE_BYTES));
      }
      open.flush();
    }
    Path segment = files(store, ".vlog").get(0);
    // The first record was written again since; that of key 1 is the second.
    flip(segment, VALUE_BYTES + VALUE_BYTES / 2);
    try (KvStore open = KvStore.open(store, options().build())) {
      ReclaimReport report = open.reclaim();
      assertEquals(List.of(name(segment)), report.damagedFiles());
      assertTrue(report.filesRewritten() > 0, report::toString);
      assertTrue(Files.exists(segment));
      assertEquals(1, checkAll(open, 10 * KEYS, VALUE_BYTES, name(segment)));
    }
    try (KvStore open = KvStore.open(store, options().build())) {
      assertEquals(1, checkAll(open, 10 * KEYS, VALUE_BYTES, name(segment)));
    }
  }

  @Test
  void aCompactionWhoseOutputCannotBeCreatedLosesNothing() throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store, options().build())) {
      for (int round = 0; round < 3; round++) {
        for (int i = round; i < 2_000; i += 3) {
          open.put(key(i), value(i, 100));
        }
        open.flush();
      }
      long newest =
          files(store, ".sst").stream().mapToLong(KnownFaultsTest::number).max().orElseThrow();
      List<Path> inTheWay = new ArrayList<>();
      for (long number = newest + 1; number < newest + 50; number++) {
        inTheWay.add(Files.createFile(store.resolve(StoreFiles.table(number))));
      }
      assertThrows(StorageException.class, open::compact);
      assertEquals(0, checkAll(open, 2_000, 100, ""));
      for (Path file : inTheWay) {
        Files.deleteIfExists(file);
      }
      open.compact();
      assertEquals(0, checkAll(open, 2_000, 100, ""));
    }
    try (KvStore open = KvStore.open(store, options().build())) {
      assertEquals(0, checkAll(open, 2_000, 100, ""));
    }
  }

  private static long number(Path file) {
    return StoreFiles.numberOf(name(file));
  }

  /** Whatever part of the unsynced log reaches the device, what is found is a prefix. */
  @Test
  void aLogThatWasWrittenBackInPartGivesAPrefix() throws IOException {
    Path store = parent.resolve("store");
    Path left;
    try (KvStore open = KvStore.open(store, options().durability(Durability.none()).build())) {
      put(open, 0, KEYS);
      left = killed(store);
    }
    byte[] whole = Files.readAllBytes(newestSegment(left));
    Random random = new Random(1);
    for (int round = 0; round < 30; round++) {
      Path copy = killed(left);
      byte[] part = whole.clone();
      int cut = 40 + random.nextInt(whole.length - 40);
      if (round % 2 == 0) {
        part = Arrays.copyOf(part, cut);
      } else {
        // A page that never reached the device, others behind it did.
        Arrays.fill(part, cut, Math.min(whole.length, cut + 4_096), (byte) 0);
      }
      Files.write(newestSegment(copy), part);
      try (KvStore open = KvStore.open(copy, options().build())) {
        int found = 0;
        while (found < KEYS && open.contains(key(found))) {
          assertArrayEquals(value(found, VALUE_BYTES), open.get(key(found)));
          found++;
        }
        for (int i = found; i < KEYS; i++) {
          assertNull(open.get(key(i)), "a value behind the first that is missing");
        }
        assertTrue(found >= (cut - 40) / (VALUE_BYTES + 100) - 1, found + " of " + cut + " bytes");
      }
    }
  }

  @Test
  void commitsThatWaitForASyncShareTheNextOne() throws Exception {
    int writers = 16;
    CountDownLatch syncing = new CountDownLatch(1);
    CountDownLatch waiting = new CountDownLatch(1);
    Storage files = new FileStorage(parent.resolve("store"), /* createIfMissing= */ true);
    Storage slow = slowLog(files, syncing, waiting);
    try (KvStore store = OpenStore.open(slow, options().durability(Durability.sync()).build())) {
      store.put(key(0), value(0, 100));
      long before = store.stats().syncs();
      List<Thread> threads = new ArrayList<>();
      for (int i = 0; i < writers; i++) {
        int number = i;
        threads.add(new Thread(() -> store.put(key(number), value(number, 100))));
      }
      held = true;
      threads.get(0).start();
      syncing.await();
      threads.subList(1, writers).forEach(Thread::start);
      Parked.await(threads.subList(1, writers));
      waiting.countDown();
      for (Thread thread : threads) {
        thread.join(TimeUnit.SECONDS.toMillis(60));
        assertFalse(thread.isAlive());
      }
      assertEquals(2, store.stats().syncs() - before, "one for the first, one for all others");
      assertEquals(0, checkAll(store, writers, 100, ""));
    }
  }

  /** Whether the next sync of the log has to wait. */
  private volatile boolean held;

  private Storage slowLog(Storage storage, CountDownLatch syncing, CountDownLatch waiting) {
    return new ForwardingStorage(storage) {
      @Override
      protected StorageFile wrap(StorageFile file) {
        return file.name().endsWith(".vlog") ? new SlowFile(file, syncing, waiting) : file;
      }
    };
  }

  private final class SlowFile extends ForwardingFile {
    private final CountDownLatch syncing;
    private final CountDownLatch waiting;

    SlowFile(StorageFile file, CountDownLatch syncing, CountDownLatch waiting) {
      super(file);
      this.syncing = syncing;
      this.waiting = waiting;
    }

    @Override
    public void sync() throws IOException {
      super.sync();
      if (held) {
        held = false;
        syncing.countDown();
        try {
          waiting.await();
        } catch (InterruptedException e) {
          throw new IOException(e);
        }
      }
    }
  }

  @Test
  void anEmptyStoreTakesAFewHundredBytes() throws IOException {
    Path store = parent.resolve("store");
    try (KvStore open = KvStore.open(store)) {
      assertNull(open.get(key(1)));
      assertTrue(bytes(store) < 1_000, () -> "open: " + bytes(store));
    }
    assertTrue(bytes(store) < 1_000, () -> "closed: " + bytes(store));
  }

  private static long bytes(Path store) {
    try (Stream<Path> files = Files.list(store)) {
      return files.mapToLong(file -> file.toFile().length()).sum();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @Test
  void flippedBytesInABlockOfATableAreErrorsAndNeverMissingKeys() throws IOException {
    for (ValueCompression packed : ValueCompression.values()) {
      Path store = parent.resolve("store-" + packed);
      KvOptions options = options().keyBlockCompression(packed).build();
      try (KvStore open = KvStore.open(store, options)) {
        for (int i = 0; i < 2_000; i++) {
          open.put(key(i), value(i, 100));
        }
        open.compact();
      }
      Path table = files(store, ".sst").get(0);
      byte[] sound = Files.readAllBytes(table);
      for (int round = 0; round < 10; round++) {
        int offset = 50 + new Random(round).nextInt(sound.length / 2);
        flip(table, offset, offset + 1);
        try (KvStore open = KvStore.open(store, options().readOnly(true).build())) {
          int errors = checkAll(open, 2_000, 100, name(table));
          assertTrue(errors > 0 && errors < 200, errors + " errors");
          CorruptionException error =
              assertThrows(CorruptionException.class, () -> scan(open), "a scan");
          assertEquals(name(table), error.file());
        }
        Files.write(table, sound);
      }
    }
  }

  private static void scan(KvStore store) {
    try (KvCursor cursor = store.cursor()) {
      while (cursor.next()) {
        assertNotNull(cursor.value());
      }
    }
  }

  /** Tombstones are gone from the tables, so nothing has to be walked over. */
  @Test
  void aScanBehindManyDeletesHasNothingToPassOver() {
    try (KvStore store = KvStore.open(parent.resolve("store"), options().build())) {
      for (int from = 0; from < 20_000; from += 1_000) {
        WriteBatch puts = new WriteBatch();
        for (int i = from; i < from + 1_000; i++) {
          puts.put(key(i), value(i, 20));
        }
        store.write(puts);
      }
      store.flush();
      for (int i = 0; i < 20_000; i++) {
        store.delete(key(i));
      }
      store.compact();
      assertEquals(0, store.stats().tableBytes(), "bytes of tables, tombstones included");
      try (KvCursor cursor = store.cursor()) {
        assertFalse(cursor.next());
      }
    }
  }

  @Test
  void whatWasFoundBeforeAReclaimIsThereAfterIt() {
    try (KvStore store = KvStore.open(parent.resolve("store"), options().build())) {
      put(store, 0, 3 * KEYS);
      store.flush();
      try (Snapshot snapshot = store.snapshot();
          KvCursor cursor = snapshot.cursor()) {
        for (int i = 0; i < 3 * KEYS; i++) {
          assertTrue(cursor.next());
          assertTrue(snapshot.contains(key(i)));
          if (i % 100 == 50) {
            for (int j = 0; j < 3 * KEYS; j += 2) {
              store.put(key(j), value(1_000 + j, VALUE_BYTES));
            }
            assertTrue(store.reclaim().filesExamined() > 0);
          }
          assertArrayEquals(value(i, VALUE_BYTES), cursor.value());
          assertArrayEquals(value(i, VALUE_BYTES), snapshot.get(key(i)));
        }
      }
    }
  }

  @Test
  void everyRowOfTheTableNamesTestsThatThereAre() throws IOException {
    for (List<String> row : Documents.rows("internals/testing.md", "fault")) {
      for (String test : row.get(3).split(", ", -1)) {
        String[] parts = test.split("\\.", -1);
        assertEquals(2, parts.length, test);
        assertTrue(source(parts[0]).contains("void " + parts[1] + "("), test);
      }
    }
  }

  private static String source(String type) throws IOException {
    Path tests = Path.of("src/test/java");
    Path root = Files.isDirectory(tests) ? tests : Path.of("kvsep-core").resolve(tests);
    try (Stream<Path> files = Files.walk(root)) {
      return Files.readString(
          files.filter(file -> file.endsWith(type + ".java")).findFirst().orElseThrow());
    }
  }
}
