package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.CorruptionException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * A store whose files were copied, after which both went on separately: they have the same id, and
 * their tables have the same numbers. One in the place of the other is as sound as it was.
 */
final class StrangeTableTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);

  @TempDir Path folder;

  private Path ours;
  private String table;

  private static KvOptions options() {
    return KvOptions.builder().memoryBudgetBytes(16 << 20).segmentBytes(1 << 20).build();
  }

  private static byte[] value(int number) {
    return String.format("a value of one length %d", number).getBytes(UTF_8);
  }

  private static Set<String> tables(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files
          .map(file -> file.getFileName().toString())
          .filter(name -> name.endsWith(".sst"))
          .collect(Collectors.toCollection(TreeSet::new));
    }
  }

  @BeforeEach
  void replaceATable() throws IOException {
    ours = folder.resolve("ours");
    Path theirs = Files.createDirectory(folder.resolve("theirs"));
    KvStore.open(ours, options()).close();
    try (Stream<Path> files = Files.list(ours)) {
      for (Path file : files.toList()) {
        Files.copy(file, theirs.resolve(file.getFileName()));
      }
    }
    write(ours, 1);
    write(theirs, 2);
    assertEquals(1, tables(ours).size());
    assertEquals(tables(ours), tables(theirs));
    table = tables(ours).iterator().next();
    assertEquals(Files.size(ours.resolve(table)), Files.size(theirs.resolve(table)));
    Files.copy(theirs.resolve(table), ours.resolve(table), StandardCopyOption.REPLACE_EXISTING);
  }

  /** Puts the key some times, so that the last put has another number. */
  private static void write(Path directory, int times) {
    try (KvStore store = KvStore.open(directory, options())) {
      for (int i = 1; i <= times; i++) {
        store.put(KEY, value(i));
      }
    }
  }

  @Test
  void whatIsInItIsNoAnswer() {
    try (KvStore store = KvStore.open(ours, options())) {
      CorruptionException error = assertThrows(CorruptionException.class, () -> store.get(KEY));
      assertEquals(table, error.file());
      assertFalse(store.verify().isSound());
    }
  }

  @Test
  void repairTakesNothingFromIt() {
    RepairReport report = KvStore.repair(ours, folder.resolve("new"), options());
    assertFalse(report.isComplete(), report::toString);
    assertEquals(table, report.losses().get(0).file());
    try (KvStore store = KvStore.open(folder.resolve("new"), options())) {
      // Nothing else had it: the log was given back.
      assertNull(store.get(KEY));
    }
  }
}
