package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.CorruptionException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Repair as a user meets it, on files. */
final class RepairStoreTest {
  private static final int KEYS = 300;

  @TempDir Path folder;
  private Path damaged = Path.of("");
  private Path target = Path.of("");

  @BeforeEach
  void makeStore() {
    damaged = folder.resolve("damaged");
    target = folder.resolve("parent").resolve("target");
    try (KvStore store = KvStore.open(damaged)) {
      KvView users = store.in(store.keyspace("users"));
      for (int i = 0; i < KEYS; i++) {
        store.put(key(i), value(i));
        users.put(key(i), value(i + 1), Duration.ofDays(i % 2 == 0 ? 1 : 1_000));
      }
      store.deleteRange(key(100), key(200));
      store.put(key(1), value(7), Duration.ofMillis(1));
      store.delete(key(2));
      store.keyspace("empty");
    }
  }

  private RepairReport repair() throws IOException {
    Map<String, String> before = IncompatibleFilesTest.listing(damaged);
    RepairReport report = KvStore.repair(damaged, target);
    assertEquals(before, IncompatibleFilesTest.listing(damaged));
    try (Stream<Path> made = Files.list(folder.resolve("parent"))) {
      assertEquals(List.of(target), made.toList(), "nothing is left beside it");
    }
    return report;
  }

  private void checkContents(String users) {
    try (KvStore store = KvStore.open(target)) {
      assertTrue(store.verify().isSound());
      for (int i = 0; i < KEYS; i++) {
        boolean gone = i == 1 || i == 2 || isDeleted(i);
        byte[] found = store.get(key(i));
        if (gone) {
          assertNull(found);
        } else {
          assertArrayEquals(value(i), found);
        }
        assertArrayEquals(value(i + 1), store.in(store.keyspace(users)).get(key(i)));
      }
      try (KvCursor cursor = store.in(store.keyspace(users)).cursor()) {
        assertTrue(cursor.next());
        assertTrue(cursor.expiresAtMillis().isPresent());
      }
    }
  }

  /** By the bytes of the key, not by the number. */
  private static boolean isDeleted(int index) {
    return index >= 100 && index < 200;
  }

  @Test
  void aSoundStoreIsCopied() throws IOException {
    RepairReport report = repair();

    assertTrue(report.isComplete(), report::toString);
    assertTrue(report.manifestUsed());
    checkContents("users");
    try (KvStore store = KvStore.open(target)) {
      assertEquals(List.of("empty", "users"), store.keyspaces());
    }
  }

  @Test
  void aStoreWithNothingButItsLogComesBack() throws IOException {
    try (Stream<Path> files = Files.list(damaged)) {
      for (Path file : files.toList()) {
        if (!file.toString().endsWith(".vlog")) {
          Files.delete(file);
        }
      }
    }
    assertThrows(CorruptionException.class, () -> KvStore.open(damaged));

    RepairReport report = repair();

    assertFalse(report.manifestUsed());
    assertEquals(0, report.uncertainCount());
    assertEquals(1, report.lossCount(), "CURRENT");
    assertTrue(report.notes().stream().anyMatch(note -> note.contains("keyspace-1")));
    checkContents("keyspace-1");
  }

  @Test
  void howTheDamagedStoreIsOpenedSaysNothingOfTheNewOne() throws IOException {
    KvOptions existing = KvOptions.builder().createIfMissing(false).build();
    assertTrue(KvStore.repair(damaged, target, existing).isComplete());
    checkContents("users");
    KvOptions readOnly = KvOptions.builder().readOnly(true).build();
    assertTrue(KvStore.repair(damaged, folder.resolve("second"), readOnly).isComplete());
  }

  @Test
  void aTargetThatIsTakenIsLeftAlone() throws IOException {
    Files.createDirectories(target);
    Files.write(target.resolve("mine"), new byte[3]);
    assertThrows(StorageException.class, () -> KvStore.repair(damaged, target));
    assertEquals(3, Files.size(target.resolve("mine")));
    assertThrows(
        IllegalArgumentException.class, () -> KvStore.repair(damaged, damaged.resolve("in")));
    assertThrows(IllegalArgumentException.class, () -> KvStore.repair(damaged, damaged));
    assertThrows(StorageException.class, () -> KvStore.repair(folder.resolve("none"), target));
  }

  @Test
  void aTargetToWhichALinkLeadsInTheDamagedDirectoryIsRefused() throws IOException {
    Map<String, String> before = IncompatibleFilesTest.listing(damaged);
    Path link = Files.createSymbolicLink(folder.resolve("link"), damaged);
    Path outer = Files.createSymbolicLink(folder.resolve("outer"), folder);
    for (Path wrong :
        List.of(
            link,
            link.resolve("new"),
            link.resolve("more").resolve("new"),
            outer.resolve("damaged").resolve("new"),
            outer.resolve("none").resolve("..").resolve("link").resolve("new"),
            outer)) {
      for (Path source : List.of(damaged, link)) {
        assertThrows(IllegalArgumentException.class, () -> KvStore.repair(source, wrong));
      }
    }
    assertEquals(before, IncompatibleFilesTest.listing(damaged));
  }

  @Test
  void anEmptyTargetIsUsed() throws IOException {
    Files.createDirectories(target);
    assertTrue(repair().isComplete());
    checkContents("users");
  }

  @Test
  void aLinkToAnEmptyTargetStaysOne() throws IOException {
    Path empty = Files.createDirectories(folder.resolve("elsewhere").resolve("empty"));
    Files.createDirectories(folder.resolve("parent"));
    Files.createSymbolicLink(target, empty);
    assertTrue(repair().isComplete());
    assertEquals(empty.toRealPath(), target.toRealPath());
    checkContents("users");
  }

  @Test
  void aStoreInUseIsNotRepaired() {
    try (KvStore store = KvStore.open(damaged)) {
      assertThrows(StoreLockedException.class, () -> KvStore.repair(damaged, target));
      assertTrue(store.contains(key(5)));
    }
    assertTrue(Files.notExists(target));
  }

  @Test
  void aDirectoryWithoutAStoreIsNone() throws IOException {
    Path empty = Files.createDirectory(folder.resolve("empty"));
    assertThrows(CorruptionException.class, () -> KvStore.repair(empty, target));
    assertTrue(Files.notExists(target));
    assertTrue(Files.notExists(folder.resolve("parent")));
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }

  private static byte[] value(int index) {
    byte[] value = new byte[index * 37 % 2_000];
    if (index % 2 == 0) {
      new Random(index).nextBytes(value);
    }
    return value;
  }
}
