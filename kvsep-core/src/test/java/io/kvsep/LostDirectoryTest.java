package io.kvsep;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreFailedException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.io.FileStorage;
import io.kvsep.internal.io.ForwardingStorage;
import io.kvsep.internal.io.Storage;
import io.kvsep.internal.io.StorageFile;
import io.kvsep.testing.JavaProcess;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * What becomes of an open store, and of others, when its directory goes or is not its own any more.
 */
@Timeout(120)
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "what is open can be neither moved nor deleted")
final class LostDirectoryTest {
  private static final int ENTRIES = 1_500;
  private static final int WRITES_MAX = 300_000;

  private static final KvOptions OPTIONS =
      KvOptions.builder().durability(Durability.none()).segmentBytes(1 << 20).build();

  private static final KvOptions READING = KvOptions.builder().readOnly(true).build();

  @TempDir Path parent;

  private Path at(String name) {
    return parent.resolve(name);
  }

  private static byte[] key(String store, int number) {
    return (store + "-" + number).getBytes(UTF_8);
  }

  private static byte[] value(String store, int number) {
    byte[] value = new byte[1_000];
    System.arraycopy(key(store, number), 0, value, 0, key(store, number).length);
    return value;
  }

  private static void fill(KvStore store, String name, int from, int to) {
    for (int i = from; i < to; i++) {
      store.put(key(name, i), value(name, i));
    }
  }

  private static void requireAll(Path directory, String name, int count) {
    try (KvStore store = KvStore.open(directory, OPTIONS)) {
      requireAll(store, name, count);
      assertTrue(store.verify().isSound());
    }
  }

  private static void requireAll(KvStore store, String name, int count) {
    for (int i = 0; i < count; i++) {
      int number = i;
      assertArrayEquals(value(name, i), store.get(key(name, i)), () -> name + " " + number);
    }
  }

  private static void deleteAll(Path directory, boolean itself) throws IOException {
    try (Stream<Path> paths = Files.walk(directory)) {
      for (Path path : paths.sorted(Comparator.reverseOrder()).toList()) {
        if (itself || !path.equals(directory)) {
          Files.delete(path);
        }
      }
    }
  }

  private static void assertLost(Path directory, Executable work) {
    StoreFailedException failed = assertThrows(StoreFailedException.class, work);
    String message = String.valueOf(failed.getMessage());
    assertTrue(message.contains(directory.toString()), message);
    assertTrue(message.contains("moved, deleted or replaced"), message);
  }

  private static void assertRefusesWrites(Path directory, KvStore store) {
    assertLost(directory, store::sync);
    assertLost(directory, store::flush);
    assertLost(directory, store::compact);
    assertLost(directory, store::reclaim);
    assertLost(directory, () -> store.put(key("refused", 0), value("refused", 0)));
    assertLost(directory, () -> store.keyspace("refused"));
    assertTrue(store.stats().failed());
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void closingTouchesNothingOfAnotherStoreInTheSamePlace(boolean itself) throws Exception {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    store.flush();
    fill(store, "a", 0, ENTRIES);
    deleteAll(data, itself);
    assertEquals("found 0", Other.run(data));
    Map<String, String> before = IncompatibleFilesTest.listing(data);

    assertLost(data, store::close);

    assertEquals(before, IncompatibleFilesTest.listing(data));
    requireAll(data, "b", ENTRIES);
  }

  @Test
  void anotherStoreThatIsOpenInTheSamePlaceGoesOn() throws Exception {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    deleteAll(data, /* itself= */ true);
    try (Other other = new Other(data)) {
      assertEquals("found 0", other.open());
      assertLost(data, store::flush);
      assertLost(data, store::close);
      assertThrows(StoreLockedException.class, () -> KvStore.open(data));
      other.close();
    }
    requireAll(data, "b", ENTRIES);
  }

  @Test
  void aStoreWhoseDirectoryIsReplacedWritesNoMoreAndLosesNothing() throws IOException {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    Files.move(data, at("data.old"));
    Files.createDirectory(data);

    assertRefusesWrites(data, store);
    assertLost(data, () -> store.checkpoint(at("checkpoint")));
    assertLost(data, store::close);

    assertEquals(Map.of(), IncompatibleFilesTest.listing(data));
    assertFalse(Files.exists(at("checkpoint")));
    requireAll(at("data.old"), "a", ENTRIES);
  }

  /** What is written until that shows goes into files that are open, wherever they are. */
  @Test
  void writersHearOfItThemselvesAndWhatWasAcknowledgedIsKept() throws IOException {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    Files.move(data, at("data.old"));
    Files.createDirectory(data);
    int written = putUntilRefused(data, store, ENTRIES);
    assertLost(data, store::close);
    requireAll(at("data.old"), "a", written);
  }

  private static int putUntilRefused(Path data, KvStore store, int from) {
    int next = from;
    try {
      for (; next < WRITES_MAX; next++) {
        store.put(key("a", next), value("a", next));
      }
      throw new AssertionError("never refused");
    } catch (StoreFailedException e) {
      assertLost(data, () -> store.put(key("a", 0), value("a", 0)));
      return next;
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aReadNeverGivesWhatAnotherStoreHas(boolean readOnly) throws IOException {
    Path data = at("data");
    try (KvStore store = KvStore.open(data, OPTIONS)) {
      rewrite(store, "first");
      store.checkpoint(at("copy"));
    }
    for (String name : List.of("data", "copy")) {
      try (KvStore store = KvStore.open(at(name), OPTIONS)) {
        for (int round = 0; round < 3; round++) {
          rewrite(store, name + round);
        }
      }
    }
    KvStore store = KvStore.open(data, readOnly ? READING : OPTIONS);
    Files.move(data, at("data.old"));
    Files.move(at("copy"), data);
    int refused = 0;
    for (int i = 0; i < ENTRIES; i++) {
      try {
        assertEquals("data2", new String(store.get(key("k", i)), UTF_8));
      } catch (StoreFailedException e) {
        refused++;
      }
    }
    // A store that is written to may have opened every table for a compaction.
    assertTrue(refused > 0 || !readOnly, "every file was open");
    assertLost(data, store::close);
    for (String name : List.of("data.old", "data")) {
      try (KvStore reopened = KvStore.open(at(name), OPTIONS)) {
        String expected = name.equals("data") ? "copy2" : "data2";
        assertEquals(expected, new String(reopened.get(key("k", 0)), UTF_8));
        assertTrue(reopened.verify().isSound());
      }
    }
  }

  /** Short values, which lie in the tables. */
  private static void rewrite(KvStore store, String value) {
    for (int i = 0; i < ENTRIES; i++) {
      store.put(key("k", i), value.getBytes(UTF_8));
    }
    store.flush();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aStoreWithoutItsLockFileWritesNoMoreAndLosesNothing(boolean madeAnew) throws IOException {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    Files.delete(data.resolve("LOCK"));
    if (madeAnew) {
      Files.createFile(data.resolve("LOCK"));
    }
    assertRefusesWrites(data, store);
    assertLost(data, store::close);
    requireAll(data, "a", ENTRIES);
  }

  /** Who opens a store without a lock file gives a former holder time to notice. */
  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void nothingIsLostWhereTheLockFileIsDeletedAndAnotherProcessOpensTheStore(boolean madeAnew)
      throws Exception {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    try (Other other = new Other(data)) {
      int[] written = {0};
      Thread writer =
          new Thread(() -> written[0] = putUntilRefused(data, store, ENTRIES), "writer");
      writer.start();
      Files.delete(data.resolve("LOCK"));
      if (madeAnew) {
        Files.createFile(data.resolve("LOCK"));
      }
      String found = other.open();
      writer.join();
      assertLost(data, store::close);
      other.close();
      requireAll(data, "b", ENTRIES);
      requireAll(data, "a", written[0]);
      assertEquals("found " + written[0], found);
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"data", "parent"})
  void aStoreWhoseDirectoryOrItsParentIsMovedLosesNothing(String moved) throws IOException {
    Path data = at("parent").resolve("data");
    Path elsewhere = at("elsewhere");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    store.flush();
    fill(store, "a", ENTRIES, 2 * ENTRIES);
    Files.move(moved.equals("data") ? data : at("parent"), elsewhere);
    assertRefusesWrites(data, store);
    assertLost(data, store::close);
    requireAll(moved.equals("data") ? elsewhere : elsewhere.resolve("data"), "a", 2 * ENTRIES);
  }

  @Test
  void aDirectoryThatIsPutBackIsNotWrittenIntoUntilItIsOpenedAgain() throws IOException {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    Files.move(data, at("data.old"));
    assertLost(data, store::sync);
    Files.move(at("data.old"), data);
    assertRefusesWrites(data, store);
    assertLost(data, store::close);
    requireAll(data, "a", ENTRIES);
  }

  @Test
  void aLinkThatLeadsElsewhereLaterChangesNothing() throws IOException {
    try (KvStore other = KvStore.open(at("other"), OPTIONS)) {
      fill(other, "b", 0, ENTRIES);
    }
    Map<String, String> before = IncompatibleFilesTest.listing(at("other"));
    Files.createDirectory(at("data"));
    Path link = Files.createSymbolicLink(at("link"), at("data"));
    try (KvStore store = KvStore.open(link, OPTIONS)) {
      fill(store, "a", 0, ENTRIES);
      Files.delete(link);
      Files.createSymbolicLink(link, at("other"));
      store.flush();
      fill(store, "a", 0, ENTRIES);
      store.compact();
    }
    assertEquals(before, IncompatibleFilesTest.listing(at("other")));
    requireAll(at("data"), "a", ENTRIES);
  }

  @Test
  void aFileInPlaceOfTheDirectoryStays() throws IOException {
    Path data = at("data");
    KvStore store = KvStore.open(data, OPTIONS);
    fill(store, "a", 0, ENTRIES);
    Files.move(data, at("data.old"));
    Files.writeString(data, "a file");
    assertRefusesWrites(data, store);
    assertLost(data, store::close);
    assertEquals("a file", Files.readString(data));
    requireAll(at("data.old"), "a", ENTRIES);
  }

  @Test
  void aRepairOfADirectoryThatIsReplacedMeanwhileMakesNothing() throws IOException {
    Path data = at("data");
    try (KvStore store = KvStore.open(data, OPTIONS)) {
      fill(store, "a", 0, ENTRIES);
    }
    try (FileStorage files = new FileStorage(data, /* createIfMissing= */ false)) {
      Storage source =
          new ForwardingStorage(files) {
            @Override
            public StorageFile open(String name, boolean writable) throws IOException {
              if (!Files.exists(at("data.old"))) {
                Files.move(data, at("data.old"));
                Files.createDirectory(data);
              }
              return super.open(name, writable);
            }
          };
      assertThrows(IOException.class, () -> StoreRepair.run(source, at("repaired"), OPTIONS));
    }
    try (Stream<Path> left = Files.list(parent)) {
      assertEquals(List.of(data, at("data.old")), left.sorted().toList());
    }
  }

  @Test
  void aStoreThatIsOnlyReadClosesWithoutAWordWhereItNoticedNothing() throws IOException {
    Path data = at("data");
    try (KvStore store = KvStore.open(data, OPTIONS)) {
      fill(store, "a", 0, 1);
    }
    try (KvStore store = KvStore.open(data, READING)) {
      assertArrayEquals(value("a", 0), store.get(key("a", 0)));
      Files.move(data, at("data.old"));
      assertArrayEquals(value("a", 0), store.get(key("a", 0)));
    }
  }

  /** Another process that opens a store when it is told to, writes, and closes when it is told. */
  static final class Other implements AutoCloseable {
    private final Process process;
    private final BufferedReader answers;

    Other(Path directory) throws Exception {
      process = JavaProcess.start(Other.class, directory.toString());
      answers = new BufferedReader(new InputStreamReader(process.getInputStream(), US_ASCII));
      assertEquals("ready", answers.readLine());
    }

    static String run(Path directory) throws Exception {
      try (Other other = new Other(directory)) {
        return other.open();
      }
    }

    /** How many entries of the first store it found. */
    String open() throws IOException {
      OutputStream out = process.getOutputStream();
      out.write('\n');
      out.flush();
      return String.valueOf(answers.readLine());
    }

    @Override
    public void close() throws Exception {
      process.getOutputStream().close();
      answers.readLine();
      process.waitFor(60, TimeUnit.SECONDS);
    }

    public static void main(String[] arguments) throws IOException {
      System.out.println("ready");
      if (System.in.read() < 0) {
        return;
      }
      try (KvStore store = KvStore.open(Path.of(arguments[0]), OPTIONS)) {
        int found = 0;
        while (store.contains(key("a", found))) {
          found++;
        }
        fill(store, "b", 0, ENTRIES);
        store.sync();
        System.out.println("found " + found);
        while (System.in.read() >= 0) {
          // Only the end of the input counts.
        }
      } catch (RuntimeException e) {
        System.out.println(e);
      }
    }
  }
}
