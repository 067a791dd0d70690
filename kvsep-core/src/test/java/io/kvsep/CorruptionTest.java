package io.kvsep;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import net.openhft.chronicle.bytes.Bytes;
import net.openhft.chronicle.bytes.BytesStore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/**
 * Damaged files as a user meets them: an error that says where, from every way to read the damaged
 * entry, while everything else goes on.
 */
final class CorruptionTest {
  private static final int ENTRIES = 40;
  private static final KvOptions OPTIONS =
      KvOptions.builder().valueCompression(ValueCompression.NONE).build();

  @TempDir Path directory;

  @BeforeEach
  void makeStore() {
    try (KvStore store = KvStore.open(directory, OPTIONS)) {
      for (int i = 0; i < ENTRIES; i++) {
        store.put(key(i), value(i));
      }
    }
  }

  @Test
  void aDamagedValueIsFoundByEveryReadOfItAndByNoOther() throws IOException {
    int damaged = 20;
    Path segment = file(".vlog");
    long offset = flipInside(segment, value(damaged));
    try (KvStore store = KvStore.open(directory, OPTIONS)) {
      long told = store.verify().problems().get(0).offset();
      BytesStore<?, ?> key = BytesStore.wrap(key(damaged));
      List<Executable> reads =
          List.of(
              () -> store.get(key(damaged)),
              () -> store.getAll(List.of(key(1), key(damaged))),
              () -> store.read(key(damaged), view -> view),
              () -> store.readWithInfo(key(damaged), (info, view) -> view),
              () -> store.readWithInfo(key(damaged), 1 << 20, (info, view) -> view),
              () -> store.get(key, Bytes.allocateElasticOnHeap()),
              () -> store.compareAndSet(key(damaged), value(damaged), new byte[1]));
      for (Executable read : reads) {
        CorruptionException error = assertThrows(CorruptionException.class, read);
        assertEquals(segment.getFileName().toString(), error.file());
        assertTrue(Math.abs(error.offset() - offset) < 2_000, () -> "offset " + error.offset());
        assertEquals(told, error.offset(), "as verify() tells it");
        assertFalse(error.expected().isEmpty() || error.found().isEmpty());
      }
      assertTrue(store.contains(key(damaged)), "the key is sound, its value is not read");
      assertEquals(
          value(damaged).length,
          store.<Integer>readWithInfo(key(damaged), 1, (info, view) -> info.valueLength()),
          "the same, since the value is longer than asked for");
      for (int i = 0; i < ENTRIES; i++) {
        if (i != damaged) {
          assertArrayEquals(value(i), store.get(key(i)));
        }
      }
      scanPast(store, damaged);
      store.put(key(damaged), value(1));
      assertArrayEquals(value(1), store.get(key(damaged)), "written anew it is whole again");
    }
  }

  private static void scanPast(KvStore store, int damaged) {
    int count = 0;
    try (KvCursor cursor = store.cursor()) {
      while (cursor.next()) {
        int number = count++;
        assertArrayEquals(key(number), cursor.key());
        assertEquals(value(number).length, cursor.valueLength());
        if (number == damaged) {
          assertThrows(CorruptionException.class, cursor::value);
          assertThrows(CorruptionException.class, cursor::valueView);
        } else {
          assertArrayEquals(value(number), cursor.value());
        }
      }
    }
    assertEquals(ENTRIES, count);
    try (KvCursor cursor = store.cursor(ScanOptions.all().keysOnly().reverse())) {
      for (int i = 0; i < ENTRIES; i++) {
        assertTrue(cursor.next());
      }
    }
  }

  @Test
  void aDamagedTableIsAnErrorOrRightData() throws IOException {
    byte[] sound = Files.readAllBytes(file(".sst"));
    String name = file(".sst").getFileName().toString();
    // The first bytes tell what the file is: damaged, it is not ours at all.
    for (int offset = 12; offset < sound.length; offset += Math.max(1, sound.length / 40)) {
      byte[] damaged = sound.clone();
      damaged[offset] ^= 0x10;
      Files.write(file(".sst"), damaged);
      rightDataOrNamed(name);
      Files.write(file(".sst"), sound);
    }
  }

  /** Through real mappings, which must not be touched beyond the end of a file. */
  @Test
  void aFileThatWasCutIsAnErrorOrRightData() throws IOException {
    for (String part : List.of(".vlog", ".sst", "MANIFEST-", "CURRENT")) {
      Path file = file(part);
      byte[] sound = Files.readAllBytes(file);
      for (int length = 0; length < sound.length; length += 1 + sound.length / 20) {
        Files.write(file, Arrays.copyOf(sound, length));
        rightDataOrNamed(file.getFileName().toString());
      }
      Files.write(file, sound);
    }
  }

  @Test
  void aDamagedManifestOrCurrentIsAnErrorOrRightData() throws IOException {
    for (String part : List.of("CURRENT", "MANIFEST-")) {
      byte[] sound = Files.readAllBytes(file(part));
      Map<String, String> before = IncompatibleFilesTest.listing(directory);
      // The first bytes tell what the file is: damaged, it is not ours at all.
      for (int offset = 12; offset < sound.length; offset += 7) {
        byte[] damaged = sound.clone();
        damaged[offset] ^= 0x10;
        Files.write(file(part), damaged);
        rightDataOrNamed(file(part).getFileName().toString());
        Files.write(file(part), sound);
      }
      assertEquals(before, IncompatibleFilesTest.listing(directory));
    }
  }

  @Test
  void aRefusedOpenTouchesNothing() throws IOException {
    Path current = file("CURRENT");
    byte[] bytes = Files.readAllBytes(current);
    bytes[20] ^= 1;
    Files.write(current, bytes);
    Map<String, String> before = IncompatibleFilesTest.listing(directory);
    CorruptionException error =
        assertThrows(CorruptionException.class, () -> KvStore.open(directory, OPTIONS));
    assertEquals("CURRENT", error.file());
    assertEquals(before, IncompatibleFilesTest.listing(directory));
  }

  @Test
  void aMissingFileIsNamed() throws IOException {
    for (String part : List.of(".vlog", ".sst", "MANIFEST-", "CURRENT")) {
      Path file = file(part);
      byte[] bytes = Files.readAllBytes(file);
      Files.delete(file);
      CorruptionException error =
          assertThrows(CorruptionException.class, () -> KvStore.open(directory, OPTIONS));
      assertEquals(file.getFileName().toString(), error.file());
      Files.write(file, bytes);
    }
    try (KvStore store = KvStore.open(directory, OPTIONS)) {
      assertArrayEquals(value(3), store.get(key(3)));
    }
  }

  /** Reading alone, so that the files stay as they are for the next damage. */
  private void rightDataOrNamed(String file) {
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore store = KvStore.open(directory, reading)) {
      for (int i = 0; i < ENTRIES; i++) {
        try {
          assertArrayEquals(value(i), store.get(key(i)));
        } catch (CorruptionException e) {
          assertEquals(file, e.file());
        }
      }
    } catch (CorruptionException e) {
      assertEquals(file, e.file());
    }
  }

  /** Flips one bit in the middle of these bytes, which are in the file once; where that was. */
  private static long flipInside(Path file, byte[] part) throws IOException {
    byte[] bytes = Files.readAllBytes(file);
    int at = new String(bytes, ISO_8859_1).indexOf(new String(part, ISO_8859_1));
    assertTrue(at >= 0, "the value stands in the segment as it is");
    bytes[at + part.length / 2] ^= 1;
    Files.write(file, bytes);
    return at;
  }

  private Path file(String part) throws IOException {
    List<Path> found = new ArrayList<>();
    try (Stream<Path> files = Files.list(directory)) {
      files.filter(file -> file.getFileName().toString().contains(part)).forEach(found::add);
    }
    assertEquals(1, found.size(), () -> "files with " + part + ": " + found);
    return found.get(0);
  }

  private static byte[] key(int number) {
    return "key-%03d".formatted(number).getBytes(UTF_8);
  }

  private static byte[] value(int number) {
    byte[] value = new byte[number % 4 == 3 ? 60 : 1_500];
    new Random(number).nextBytes(value);
    return value;
  }
}
