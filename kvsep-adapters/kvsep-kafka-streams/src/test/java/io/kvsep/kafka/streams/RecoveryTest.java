package io.kvsep.kafka.streams;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import io.kvsep.ScanOptions;
import io.kvsep.error.StoreFailedException;
import java.io.File;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.header.internals.RecordHeaders;
import org.apache.kafka.common.utils.Bytes;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.errors.InvalidStateStoreException;
import org.apache.kafka.streams.errors.ProcessorStateException;
import org.apache.kafka.streams.errors.TaskCorruptedException;
import org.apache.kafka.streams.processor.StateStore;
import org.apache.kafka.streams.processor.StateStoreContext;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.processor.internals.ProcessorRecordContext;
import org.apache.kafka.streams.processor.internals.StateDirectory;
import org.apache.kafka.streams.query.Position;
import org.apache.kafka.streams.state.KeyValueIterator;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.WindowStore;
import org.apache.kafka.streams.state.internals.LegacyCheckpointingStateStore;
import org.apache.kafka.streams.state.internals.OffsetCheckpoint;
import org.apache.kafka.test.InternalMockProcessorContext;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.mockito.Mockito;

/** What is there after a crash, an unclean end and a deleted task. */
final class RecoveryTest {
  private static final TopicPartition CHANGELOG = new TopicPartition("changelog", 0);
  private static final Map<String, Object> AT_LEAST_ONCE = Map.of();
  private static final Map<String, Object> EXACTLY_ONCE =
      Map.of(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);

  @TempDir private Path directory;

  private final ArrayList<StateStore> opened = new ArrayList<>();

  @AfterEach
  void closeStores() {
    opened.forEach(StateStore::close);
  }

  private <S extends StateStore> S open(S store, Path folder, Map<String, Object> configuration) {
    try {
      InternalMockProcessorContext<?, ?> context = Contexts.in(folder, configuration);
      context.setRecordContext(new ProcessorRecordContext(0, 42, 3, "input", new RecordHeaders()));
      store.init((StateStoreContext) context, store);
    } catch (RuntimeException e) {
      throw e;
    } catch (Exception e) {
      throw new AssertionError(e);
    }
    opened.add(store);
    return store;
  }

  private static KeyValueStore<Bytes, byte[]> counts() {
    return KvsepStores.persistentKeyValueStore("counts").get();
  }

  @Test
  void offsetsAndPositionAreNeverAheadOfDataAfterCrash() throws Exception {
    Path live = directory.resolve("live");
    KeyValueStore<Bytes, byte[]> store = open(counts(), live, AT_LEAST_ONCE);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    store.put(key("b"), value("2"));
    // The process ends here: what it has given to the operating system is all there is.
    KeyValueStore<Bytes, byte[]> recovered =
        open(counts(), Folders.copy(live, directory.resolve("crashed")), AT_LEAST_ONCE);

    assertEquals(10L, recovered.committedOffset(CHANGELOG));
    assertEquals(Position.fromMap(Map.of("input", Map.of(3, 42L))), recovered.getPosition());
    assertArrayEquals(value("1"), recovered.get(key("a")));
  }

  @Test
  void writesWaitForMoreOrForACommit() throws Exception {
    Path live = directory.resolve("live");
    KeyValueStore<Bytes, byte[]> store = open(counts(), live, AT_LEAST_ONCE);
    KvStore files = openStore(live.resolve("test/.kvsep"));
    long before = files.stats().commits();
    store.put(key("a"), value("1"));
    store.put(key("a"), value("2"));
    store.delete(key("b"));
    assertEquals(before, files.stats().commits());
    assertArrayEquals(value("2"), store.get(key("a")));
    assertNull(store.get(key("b")));
    store.commit(Map.of());
    // The writes, and the position.
    assertEquals(before + 2, files.stats().commits());

    long committed = files.stats().commits();
    for (int i = 0; i < 100; i++) {
      store.put(key("k" + i), new byte[1_000]);
    }
    assertEquals(committed + 3, files.stats().commits());
    KeyValueStore<Bytes, byte[]> recovered =
        open(counts(), Folders.copy(live, directory.resolve("killed")), AT_LEAST_ONCE);
    assertArrayEquals(value("2"), recovered.get(key("a")));
    assertArrayEquals(new byte[1_000], recovered.get(key("k95")));
    assertNull(recovered.get(key("k99")));
  }

  @Test
  void otherThreadsReadWritesThatWait() throws Exception {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    store.put(key("a"), value("1"));
    AtomicReference<byte[]> found = new AtomicReference<>();
    List<Bytes> scanned = new ArrayList<>();
    Thread reader =
        new Thread(
            () -> {
              found.set(store.get(key("a")));
              try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
                all.forEachRemaining(entry -> scanned.add(entry.key));
              }
            });
    reader.start();
    reader.join();
    assertArrayEquals(value("1"), found.get());
    assertEquals(List.of(key("a")), scanned);
  }

  @Test
  void keyThatIsTooLongIsRefusedAtOnce() {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    Bytes tooLong = Bytes.wrap(new byte[70_000]);
    assertThrows(ProcessorStateException.class, () -> store.put(tooLong, value("1")));
    assertThrows(ProcessorStateException.class, () -> store.put(tooLong, null));
    store.put(key("a"), value("1"));
    assertThrows(ProcessorStateException.class, () -> store.put(tooLong, value("1")));
    assertArrayEquals(value("1"), store.get(key("a")));
  }

  @Test
  void commitClearsOffsets() {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    TopicPartition other = new TopicPartition("changelog", 1);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L, other, 11L));
    HashMap<TopicPartition, Long> cleared = new HashMap<>();
    cleared.put(CHANGELOG, null);
    store.commit(cleared);
    assertNull(store.committedOffset(CHANGELOG));
    assertEquals(11L, store.committedOffset(other));
    store.commit(Map.of());
    assertNull(store.committedOffset(other));
    store.close();

    KeyValueStore<Bytes, byte[]> reopened = open(counts(), directory, AT_LEAST_ONCE);
    assertNull(reopened.committedOffset(CHANGELOG));
    assertNull(reopened.committedOffset(other));
  }

  @Test
  void offsetsOfOtherKindOfStoreAreNotTaken() throws Exception {
    TaskId task = new TaskId(0, 0);
    File folder = Files.createDirectories(directory.resolve("test/0_0")).toFile();
    StateDirectory stateDirectory = Mockito.mock(StateDirectory.class);
    Mockito.when(stateDirectory.getOrCreateDirectoryForTask(task)).thenReturn(folder);
    OffsetCheckpoint checkpoint = new OffsetCheckpoint(new File(folder, ".checkpoint"));

    checkpoint.write(Map.of(CHANGELOG, 100L));
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    LegacyCheckpointingStateStore.migrateLegacyOffsets(
        "", stateDirectory, task, Map.of(CHANGELOG, store));
    assertNull(store.committedOffset(CHANGELOG));
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    store.close();

    checkpoint.write(Map.of(CHANGELOG, 200L));
    KeyValueStore<Bytes, byte[]> reopened = open(counts(), directory, AT_LEAST_ONCE);
    LegacyCheckpointingStateStore.migrateLegacyOffsets(
        "", stateDirectory, task, Map.of(CHANGELOG, reopened));
    assertEquals(10L, reopened.committedOffset(CHANGELOG));
  }

  /** Without it, Kafka takes an empty state for a corrupted one under exactly-once. */
  @Test
  void unknownOffsetOfEmptyStoreIsKept() {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, EXACTLY_ONCE);
    store.commit(Map.of(CHANGELOG, OffsetCheckpoint.OFFSET_UNKNOWN));
    store.close();
    assertEquals(
        OffsetCheckpoint.OFFSET_UNKNOWN,
        open(counts(), directory, EXACTLY_ONCE).committedOffset(CHANGELOG));
  }

  @Test
  void afterCrashExactlyOnceRefusesState() throws Exception {
    Path live = directory.resolve("live");
    KeyValueStore<Bytes, byte[]> store = open(counts(), live, EXACTLY_ONCE);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    store.put(key("a"), value("2"));
    Path crashed = Folders.copy(live, directory.resolve("crashed"));
    TaskCorruptedException refused =
        assertThrows(TaskCorruptedException.class, () -> open(counts(), crashed, EXACTLY_ONCE));
    assertEquals(Set.of(new TaskId(0, 0)), refused.corruptedTasks());

    // Kafka deletes the directory of the task then, and reads the changelog from its beginning.
    Folders.delete(crashed.resolve("test/0_0"));
    KeyValueStore<Bytes, byte[]> empty = open(counts(), crashed, EXACTLY_ONCE);
    assertNull(empty.committedOffset(CHANGELOG));
    assertNull(empty.get(key("a")));
  }

  /** Kafka would delete the state as well, but fail the start. */
  @Test
  void afterCrashExactlyOnceEmptiesGlobalState() throws Exception {
    Path live = directory.resolve("live");
    KeyValueStore<Bytes, byte[]> store = open(counts(), live, EXACTLY_ONCE);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    Path crashed = Folders.copy(live, directory.resolve("crashed"));

    InternalMockProcessorContext<?, ?> context = Mockito.spy(Contexts.in(crashed, EXACTLY_ONCE));
    Mockito.when(context.taskId()).thenReturn(new TaskId(-1, -1));
    KeyValueStore<Bytes, byte[]> global = counts();
    global.init((StateStoreContext) context, global);
    opened.add(global);
    assertNull(global.committedOffset(CHANGELOG));
    assertNull(global.get(key("a")));
    assertEquals(Position.emptyPosition(), global.getPosition());
    global.put(key("b"), value("2"));
    global.commit(Map.of(CHANGELOG, 20L));
    global.close();

    KeyValueStore<Bytes, byte[]> reopened = open(counts(), crashed, EXACTLY_ONCE);
    assertEquals(20L, reopened.committedOffset(CHANGELOG));
    assertArrayEquals(value("2"), reopened.get(key("b")));
  }

  @Test
  void exactlyOnceGoesOnAfterCleanClose() {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, EXACTLY_ONCE);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    store.close();

    KeyValueStore<Bytes, byte[]> reopened = open(counts(), directory, EXACTLY_ONCE);
    assertEquals(10L, reopened.committedOffset(CHANGELOG));
    assertArrayEquals(value("1"), reopened.get(key("a")));
  }

  @Test
  void allStoresOfInstanceShareOneStore() {
    open(counts(), directory, AT_LEAST_ONCE);
    KvStore store = InstanceStore.openIn(directory.resolve("test/.kvsep"));
    WindowStore<Bytes, byte[]> windows =
        open(
            KvsepStores.persistentWindowStore(
                    "windows", Duration.ofMinutes(1), Duration.ofSeconds(1), false)
                .get(),
            directory,
            AT_LEAST_ONCE);
    assertSame(store, InstanceStore.openIn(directory.resolve("test/.kvsep")));
    opened.get(0).close();
    windows.put(key("a"), value("1"), 0);
    windows.close();
    assertNull(InstanceStore.openIn(directory.resolve("test/.kvsep")));
  }

  @Test
  void keyspaceOfDeletedTaskIsDropped() throws Exception {
    open(counts(), directory, AT_LEAST_ONCE).put(key("a"), value("1"));
    opened.get(0).close();
    Folders.delete(directory.resolve("test/0_0"));
    KeyValueStore<Bytes, byte[]> other =
        open(KvsepStores.persistentKeyValueStore("other").get(), directory, AT_LEAST_ONCE);
    assertNull(other.get(key("a")));
    KvStore store = openStore(directory.resolve("test/.kvsep"));
    assertEquals(2, store.keyspaces().size(), () -> store.keyspaces().toString());
  }

  @Test
  void keyspaceOfTaskBehindLinkStays() throws Exception {
    open(counts(), directory, AT_LEAST_ONCE).put(key("a"), value("1"));
    opened.get(0).close();
    Path task = directory.resolve("test/0_0");
    Path elsewhere = directory.resolve("elsewhere");
    Files.move(task, elsewhere);
    Files.createSymbolicLink(task, elsewhere);
    Files.createSymbolicLink(elsewhere.resolve("loop"), elsewhere);
    assertArrayEquals(value("1"), open(counts(), directory, AT_LEAST_ONCE).get(key("a")));
  }

  @Test
  void keyspacesStayWhenLinkPointsToNothing() throws Exception {
    open(counts(), directory, AT_LEAST_ONCE).put(key("a"), value("1"));
    opened.get(0).close();
    Path task = directory.resolve("test/0_0");
    Path elsewhere = directory.resolve("elsewhere");
    Files.move(task, elsewhere);
    Path link = Files.createSymbolicLink(directory.resolve("test/0_1"), directory.resolve("none"));
    open(KvsepStores.persistentKeyValueStore("other").get(), directory, AT_LEAST_ONCE).close();
    Files.delete(link);
    Folders.delete(task);
    Files.move(elsewhere, task);
    assertArrayEquals(value("1"), open(counts(), directory, AT_LEAST_ONCE).get(key("a")));
  }

  @Test
  void keyspaceWithOtherNameStays() throws Exception {
    Path files = directory.resolve("test/.kvsep");
    Files.createDirectories(files);
    try (KvStore store = KvStore.open(files)) {
      store.keyspace("mine");
    }
    open(counts(), directory, AT_LEAST_ONCE);
    assertTrue(openStore(files).keyspaces().contains("mine"));
  }

  @Test
  void keyspaceOfTaskThatIsNotOpenStays() {
    open(counts(), directory, AT_LEAST_ONCE).put(key("a"), value("1"));
    opened.get(0).close();
    open(KvsepStores.persistentKeyValueStore("other").get(), directory, AT_LEAST_ONCE);
    assertArrayEquals(value("1"), open(counts(), directory, AT_LEAST_ONCE).get(key("a")));
  }

  @Test
  void failureOfStoreIsProcessorStateExceptionUntilAllHaveClosedIt() throws Exception {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    store.put(key("a"), value("1"));
    store.commit(Map.of(CHANGELOG, 10L));
    Path files = directory.resolve("test/.kvsep");
    Path moved = directory.resolve("test/moved");
    Files.move(files, moved);
    assertThrows(StoreFailedException.class, () -> openStore(files).flush());
    store.put(key("b"), value("2"));
    assertThrows(ProcessorStateException.class, store::all);
    assertThrows(ProcessorStateException.class, () -> store.commit(Map.of(CHANGELOG, 11L)));
    assertEquals(10L, store.committedOffset(CHANGELOG));
    assertThrows(ProcessorStateException.class, store::close);

    Files.move(moved, files);
    KeyValueStore<Bytes, byte[]> reopened = open(counts(), directory, AT_LEAST_ONCE);
    assertArrayEquals(value("1"), reopened.get(key("a")));
    assertEquals(10L, reopened.committedOffset(CHANGELOG));
  }

  @Test
  void iteratorOfClosedStoreThrows() {
    KeyValueStore<Bytes, byte[]> store = open(counts(), directory, AT_LEAST_ONCE);
    store.put(key("a"), value("1"));
    try (KeyValueIterator<Bytes, byte[]> all = store.all()) {
      store.close();
      assertThrows(InvalidStateStoreException.class, all::hasNext);
    }
    assertFalse(store.isOpen());
    assertThrows(InvalidStateStoreException.class, () -> store.get(key("a")));
  }

  @Test
  void storeObjectThatIsOpenedAgainDeletesWhatHasExpired() throws Exception {
    Path live = directory.resolve("live");
    WindowStore<Bytes, byte[]> windows =
        KvsepStores.persistentWindowStore(
                "windows", Duration.ofMinutes(2), Duration.ofSeconds(1), false)
            .get();
    KvsepVersionedStore versions = new KvsepVersionedStore("versions", 10_000, 1_000);
    open(windows, live, AT_LEAST_ONCE).put(key("a"), value("1"), 0);
    windows.commit(Map.of());
    open(versions, live, AT_LEAST_ONCE).put(key("a"), value("1"), 0);
    versions.put(key("a"), value("2"), 100);
    Path earlier = Folders.copy(live, directory.resolve("earlier"));
    windows.put(key("a"), value("3"), 10_000_000);
    versions.put(key("a"), value("3"), 10_000_000);
    windows.close();
    versions.close();

    open(windows, earlier, AT_LEAST_ONCE).put(key("a"), value("3"), 10_000_000);
    windows.commit(Map.of());
    open(versions, earlier, AT_LEAST_ONCE).put(key("a"), value("3"), 10_000_000);
    KvStore store = openStore(earlier.resolve("test/.kvsep"));
    // One window; two versions, and when the first of them ends.
    assertEquals(
        List.of(1, 3),
        store.keyspaces().stream()
            .filter(TaskKeyspace::isName)
            .map(name -> count(store, name))
            .sorted()
            .toList());
  }

  private static int count(KvStore store, String keyspace) {
    int count = 0;
    try (KvCursor cursor = store.in(store.keyspace(keyspace)).cursor(ScanOptions.all())) {
      while (cursor.next()) {
        count++;
      }
    }
    return count;
  }

  @Test
  void instancesWithDifferentStateDirectoriesCannotShareStore() {
    Map<String, Object> shared =
        Map.of(KvsepStores.DIRECTORY_CONFIG, directory.resolve("shared").toString());
    open(counts(), directory.resolve("one"), shared);
    assertThrows(ConfigException.class, () -> open(counts(), directory.resolve("two"), shared));
  }

  @Test
  void wrongConfigurationIsRefused() {
    for (Map<String, Object> wrong :
        List.<Map<String, Object>>of(
            Map.of(KvsepStores.DURABILITY_CONFIG, "some"),
            Map.of(KvsepStores.MEMORY_BUDGET_BYTES_CONFIG, "1"),
            Map.of(KvsepStores.BACKGROUND_THREADS_CONFIG, "many"))) {
      assertThrows(ConfigException.class, () -> open(counts(), directory, wrong), wrong::toString);
    }
    Map<String, Object> right =
        Map.of(
            KvsepStores.DURABILITY_CONFIG,
            "sync",
            KvsepStores.MEMORY_BUDGET_BYTES_CONFIG,
            "16777216",
            KvsepStores.BACKGROUND_THREADS_CONFIG,
            2,
            KvsepStores.DIRECTORY_CONFIG,
            directory.resolve("elsewhere").toString());
    open(counts(), directory, right).commit(Map.of(CHANGELOG, 1L));
    assertTrue(Files.isDirectory(directory.resolve("elsewhere/test")));
  }

  private static KvStore openStore(Path files) {
    return Objects.requireNonNull(InstanceStore.openIn(files));
  }

  private static Bytes key(String text) {
    return Bytes.wrap(value(text));
  }

  private static byte[] value(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
