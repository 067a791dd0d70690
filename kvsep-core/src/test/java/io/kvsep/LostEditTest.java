package io.kvsep;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The last edit of the manifest is damaged, and it was the one that made a keyspace. */
final class LostEditTest {
  /** A mark behind the last edit. */
  private static final int MARK_BYTES = 8;

  @TempDir Path parent;

  @Test
  void anEditThatIsDamagedIsNotTakenForOneThatACrashTore() throws IOException {
    Path killed = withKeyspace();
    Path manifest = manifest(killed);
    byte[] sound = Files.readAllBytes(manifest);
    for (int back = 1; back <= 12; back++) {
      byte[] damaged = sound.clone();
      damaged[sound.length - MARK_BYTES - back] ^= 1;
      Files.write(manifest, damaged);

      assertRefused(killed);
    }
    Files.write(manifest, sound);
    try (KvStore store = KvStore.open(killed)) {
      assertArrayEquals(new byte[] {2}, store.in(store.keyspace("a")).get(new byte[] {1}));
    }
  }

  @Test
  void aKeyspaceThatOnlyTheLogKnowsIsDamageToTheManifest() throws IOException {
    Path killed = withKeyspace();
    Path manifest = manifest(killed);
    byte[] sound = Files.readAllBytes(manifest);
    Files.write(manifest, Arrays.copyOf(sound, sound.length - MARK_BYTES - 1));

    assertRefused(killed);

    Path repaired = parent.resolve("repaired");
    RepairReport report = KvStore.repair(killed, repaired);
    assertTrue(!report.notes().isEmpty(), "the name is lost");
    try (KvStore store = KvStore.open(repaired)) {
      assertEquals(List.of("keyspace-1"), List.copyOf(store.keyspaces()));
      assertArrayEquals(new byte[] {2}, store.in(store.keyspace("keyspace-1")).get(new byte[] {1}));
    }
  }

  /** The files of a store that was killed with an entry in keyspace "a", which is in the log. */
  private Path withKeyspace() throws IOException {
    Path directory = parent.resolve("store");
    Path killed = parent.resolve("killed");
    try (KvStore store = KvStore.open(directory)) {
      store.put(new byte[] {1}, new byte[] {1});
      store.in(store.keyspace("a")).put(new byte[] {1}, new byte[] {2});
      store.sync();
      Files.createDirectory(killed);
      for (Map.Entry<String, byte[]> file : contents(directory).entrySet()) {
        Files.write(killed.resolve(file.getKey()), file.getValue());
      }
      // With a lock file that was used, opening waits for no former holder of a deleted one.
      Files.write(killed.resolve("LOCK"), new byte[] {'\n'});
    }
    return killed;
  }

  private static void assertRefused(Path directory) throws IOException {
    Map<String, byte[]> before = contents(directory);
    CorruptionException error =
        assertThrows(CorruptionException.class, () -> KvStore.open(directory).close());
    assertEquals(manifest(directory).getFileName().toString(), error.file());
    Map<String, byte[]> after = contents(directory);
    assertEquals(before.keySet(), after.keySet());
    before.forEach((name, bytes) -> assertArrayEquals(bytes, after.get(name), name));
  }

  private static Path manifest(Path directory) throws IOException {
    try (var files = Files.list(directory)) {
      return files
          .filter(file -> file.getFileName().toString().startsWith("MANIFEST-"))
          .findFirst()
          .orElseThrow();
    }
  }

  /** All but the lock file, by name. */
  private static Map<String, byte[]> contents(Path directory) throws IOException {
    Map<String, byte[]> contents = new TreeMap<>();
    try (var files = Files.list(directory)) {
      for (Path file : files.toList()) {
        String name = file.getFileName().toString();
        if (!name.equals("LOCK")) {
          contents.put(name, Files.readAllBytes(file));
        }
      }
    }
    return contents;
  }
}
