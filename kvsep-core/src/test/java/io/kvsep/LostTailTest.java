package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.internal.io.StoreFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.TreeMap;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Damage that only the manifest, or the files beside it, can show. */
final class LostTailTest {
  private static final int HEADER_BYTES = 40;
  private static final int KEYS = 40;

  @TempDir Path folder;

  private final Random random = new Random(1);
  private final Map<String, byte[]> written = new TreeMap<>();

  private static KvOptions options() {
    return KvOptions.builder()
        .memoryBudgetBytes(16 << 20)
        .segmentBytes(1 << 20)
        .durability(Durability.none())
        .build();
  }

  private Path at(String name) {
    return folder.resolve(name);
  }

  private void put(KvStore store, String key, int length) {
    byte[] value = new byte[length];
    random.nextBytes(value);
    store.put(key.getBytes(UTF_8), value);
    written.put(key, value);
  }

  private static Map<String, byte[]> files(Path directory) throws IOException {
    Map<String, byte[]> files = new TreeMap<>();
    try (Stream<Path> names = Files.list(directory)) {
      for (Path file : names.toList()) {
        String name = file.getFileName().toString();
        if (!name.equals(StoreFiles.LOCK)) {
          files.put(name, Files.readAllBytes(file));
        }
      }
    }
    return files;
  }

  private static String find(Map<String, byte[]> files, String magic) {
    String found = "";
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      byte[] bytes = file.getValue();
      if (bytes.length > HEADER_BYTES && new String(bytes, 0, 8, ISO_8859_1).equals(magic)) {
        found = file.getKey();
      }
    }
    return found;
  }

  private static byte[] bytes(Map<String, byte[]> files, String name) {
    return Objects.requireNonNull(files.get(name), name);
  }

  private Path damaged(Map<String, byte[]> files) throws IOException {
    Path damaged = Files.createDirectory(at("damaged"));
    for (Map.Entry<String, byte[]> file : files.entrySet()) {
      Files.write(damaged.resolve(file.getKey()), file.getValue());
    }
    // With a lock file that was used, opening waits for no former holder of a deleted one.
    Files.write(damaged.resolve(StoreFiles.LOCK), new byte[] {'\n'});
    return damaged;
  }

  private void requireAll(Path directory) {
    try (KvStore store = KvStore.open(directory, options())) {
      written.forEach(
          (key, value) -> assertArrayEquals(value, store.get(key.getBytes(UTF_8)), key));
    }
  }

  @Test
  void repairListsALogThatEndsInFrontOfWhatTheManifestCallsSynced() throws IOException {
    Map<String, byte[]> files;
    int firstFrame;
    try (KvStore store = KvStore.open(at("store"), options())) {
      put(store, "a", 1_000);
      files = files(at("store"));
      firstFrame = bytes(files, find(files, "KVSEPLOG")).length;
      put(store, "b", 10);
      store.flush();
      put(store, "c", 10);
      store.sync();
      files = files(at("store"));
    }
    String log = find(files, "KVSEPLOG");
    files.put(log, Arrays.copyOf(bytes(files, log), firstFrame));
    Path damaged = damaged(files);
    assertThrows(CorruptionException.class, () -> KvStore.open(damaged, options()));
    RepairReport report = KvStore.repair(damaged, at("new"), options());
    assertFalse(report.isComplete(), report::toString);
    assertEquals(log, report.losses().get(0).file());
  }

  @Test
  void repairReadsARelocatedFileUpToTheLengthThatTheManifestKnows() throws IOException {
    try (KvStore store = KvStore.open(at("store"), options())) {
      for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KEYS; i += 1 + round) {
          put(store, "key" + i, 30_000);
        }
      }
      store.reclaim();
    }
    Map<String, byte[]> files = files(at("store"));
    String relocated = find(files, "KVSEPREL");
    byte[] bytes = bytes(files, relocated);
    files.put(relocated, Arrays.copyOf(bytes, bytes.length + 100));
    Path damaged = damaged(files);
    requireAll(damaged);
    RepairReport report = KvStore.repair(damaged, at("new"), options());
    assertTrue(report.isComplete(), report::toString);
    requireAll(at("new"));
  }

  /** A store's files after all that, with the manifest as it was before {@code later}. */
  private Map<String, byte[]> withOlderManifest(Consumer<KvStore> later) throws IOException {
    try (KvStore store = KvStore.open(at("store"), options())) {
      put(store, "first", 100);
      store.sync();
      Map<String, byte[]> before = files(at("store"));
      later.accept(store);
      store.sync();
      Map<String, byte[]> files = files(at("store"));
      String manifest = find(before, "KVSEPMAN");
      byte[] older = bytes(before, manifest);
      assertTrue(bytes(files, manifest).length > older.length, "nothing was added to it");
      files.put(manifest, older);
      return files;
    }
  }

  /** So many that the log goes on in another segment. */
  private void putMany(KvStore store) {
    for (int i = 0; i < KEYS; i++) {
      put(store, "key" + i, 60_000);
    }
  }

  private RepairReport refusedAndRepaired(Path damaged) {
    assertThrows(CorruptionException.class, () -> KvStore.open(damaged, options()));
    return KvStore.repair(damaged, at("new"), options());
  }

  @Test
  void repairDoesNotGoByAManifestThatIsOlderThanTheLog() throws IOException {
    RepairReport report = refusedAndRepaired(damaged(withOlderManifest(this::putMany)));
    assertFalse(report.manifestUsed(), report::toString);
    requireAll(at("new"));
  }

  /** As when the last edits and the mark behind them are zeros, and their files had gone. */
  @Test
  void aLogThatGoesOnInAnUnknownSegmentIsDamaged() throws IOException {
    Map<String, byte[]> files = withOlderManifest(this::putMany);
    String first = StoreFiles.segment(1);
    files.keySet().removeIf(name -> name.endsWith(".vlog") && !name.equals(first));
    RepairReport report = refusedAndRepaired(damaged(files));
    assertFalse(report.manifestUsed(), report::toString);
    assertFalse(report.isComplete(), report::toString);
  }

  /** Values beside their keys: when the store was closed nothing of the log was left. */
  @Test
  void aTableWithMoreThanTheLogIsThatOfALostEdit() throws IOException {
    Map<String, byte[]> before;
    try (KvStore store = KvStore.open(at("store"), options())) {
      before = files(at("store"));
      put(store, "key", 100);
    }
    Map<String, byte[]> files = files(at("store"));
    assertEquals("", find(files, "KVSEPLOG"));
    String manifest = find(before, "KVSEPMAN");
    files.put(manifest, bytes(before, manifest));
    RepairReport report = refusedAndRepaired(damaged(files));
    assertFalse(report.manifestUsed(), report::toString);
    requireAll(at("new"));
  }

  @Test
  void repairDoesNotGoByAManifestThatKnowsAKeyspaceLess() throws IOException {
    Map<String, byte[]> files =
        withOlderManifest(
            store -> store.in(store.keyspace("later")).put("key".getBytes(UTF_8), new byte[100]));
    RepairReport report = refusedAndRepaired(damaged(files));
    assertFalse(report.manifestUsed(), report::toString);
    requireAll(at("new"));
  }

  @Test
  void damageToTheDeleteOfADroppedKeyspaceIsNotTakenForATornTail() throws IOException {
    Map<String, byte[]> files;
    try (KvStore store = KvStore.open(at("store"), options())) {
      Keyspace keyspace = store.keyspace("gone");
      put(store, "key", 5_000);
      store.dropKeyspace(keyspace);
      files = files(at("store"));
    }
    String log = find(files, "KVSEPLOG");
    files.put(log, Arrays.copyOf(bytes(files, log), HEADER_BYTES));
    Path damaged = damaged(files);
    assertThrows(CorruptionException.class, () -> KvStore.open(damaged, options()));
  }
}
