package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One wrong CURRENT or manifest counts for less than what all other files say. */
final class RepairCurrentTest {
  private static final int KEYS = 200;

  @TempDir Path folder;
  private Path ours;
  private Path theirs;

  /** The manifest that ours is in force with. */
  private Path manifest;

  @BeforeEach
  void makeStores() throws IOException {
    ours = folder.resolve("ours");
    theirs = folder.resolve("theirs");
    write(ours, "ours", 0, KEYS / 2);
    Files.copy(ours.resolve("CURRENT"), folder.resolve("older"));
    write(ours, "ours", KEYS / 2, KEYS);
    for (int i = 0; i < 5; i++) {
      write(theirs, "theirs", i, i + 1);
    }
    manifest = manifestOf(ours);
  }

  private static void write(Path directory, String text, int from, int to) {
    try (KvStore store = KvStore.open(directory)) {
      KvView users = store.in(store.keyspace("users"));
      for (int i = from; i < to; i++) {
        users.put(key(i), value(text, i));
      }
    }
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }

  /** Long and short ones in turns. */
  private static byte[] value(String text, int index) {
    return (text + index).repeat(index % 2 == 0 ? 1 : 500).getBytes(UTF_8);
  }

  private static Path manifestOf(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      List<Path> found =
          files.filter(file -> file.getFileName().toString().startsWith("MANIFEST")).toList();
      assertEquals(1, found.size());
      return found.get(0);
    }
  }

  private static void replace(Path from, Path to) throws IOException {
    Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
  }

  private RepairReport repair(String users, String... odd) {
    Path target = folder.resolve("new");
    RepairReport report = KvStore.repair(ours, target);
    assertEquals(
        List.of(odd),
        report.losses().stream().map(RepairReport.Loss::file).toList(),
        report::toString);
    assertEquals(0, report.uncertainCount());
    try (KvStore store = KvStore.open(target)) {
      assertEquals(List.of(users), store.keyspaces());
      for (int i = 0; i < KEYS; i++) {
        assertArrayEquals(value("ours", i), store.in(store.keyspace(users)).get(key(i)));
      }
    }
    return report;
  }

  @Test
  void aCurrentThatNamesAManifestThatIsGoneIsAsGoodAsNone() throws IOException {
    replace(folder.resolve("older"), ours.resolve("CURRENT"));
    assertTrue(repair("users", "CURRENT").manifestUsed());
  }

  @Test
  void aCurrentOfAnotherStoreIsAsGoodAsNone() throws IOException {
    replace(theirs.resolve("CURRENT"), ours.resolve("CURRENT"));
    assertTrue(repair("users", "CURRENT").manifestUsed());
  }

  @Test
  void aCurrentOfAnotherStoreWithItsManifestIsNotBelieved() throws IOException {
    replace(theirs.resolve("CURRENT"), ours.resolve("CURRENT"));
    Path strange = manifestOf(theirs);
    replace(strange, ours.resolve(strange.getFileName()));
    assertTrue(repair("users", "CURRENT", strange.getFileName().toString()).manifestUsed());
  }

  @Test
  void aCurrentThatNamesOurManifestAndSaysThatItIsAnothersIsNotBelieved() throws IOException {
    // As if both had been opened as many times.
    Path other = folder.resolve("other");
    for (int i = 0; !Files.exists(other.resolve(manifest.getFileName())); i++) {
      write(other, "theirs", i, i + 1);
    }
    replace(other.resolve("CURRENT"), ours.resolve("CURRENT"));
    assertTrue(repair("users", "CURRENT").manifestUsed());
  }

  @Test
  void withoutAManifestTheFilesTellWhichStoreItIs() throws IOException {
    replace(theirs.resolve("CURRENT"), ours.resolve("CURRENT"));
    Files.delete(manifest);
    assertFalse(repair("keyspace-1", "CURRENT").manifestUsed());
  }

  @Test
  void aNewerManifestOfAnotherStoreIsNotTakenWhereCurrentIsLost() throws IOException {
    Files.delete(ours.resolve("CURRENT"));
    Path strange = manifestOf(theirs);
    replace(strange, ours.resolve(strange.getFileName()));
    assertTrue(repair("users", strange.getFileName().toString(), "CURRENT").manifestUsed());
  }

  @Test
  void oneTableOfTheOtherStoreDoesNotMakeItsCurrentRight() throws IOException {
    replace(theirs.resolve("CURRENT"), ours.resolve("CURRENT"));
    Files.delete(manifest);
    Path table = tableOf(theirs);
    assertFalse(Files.exists(ours.resolve(table.getFileName())));
    replace(table, ours.resolve(table.getFileName()));
    assertFalse(repair("keyspace-1", "CURRENT", table.getFileName().toString()).manifestUsed());
  }

  private static Path tableOf(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.filter(file -> file.toString().endsWith(".sst")).sorted().toList().get(0);
    }
  }
}
