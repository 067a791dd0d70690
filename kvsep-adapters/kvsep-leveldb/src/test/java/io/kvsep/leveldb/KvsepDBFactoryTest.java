package io.kvsep.leveldb;

import static io.kvsep.leveldb.KvsepDBFactory.asString;
import static io.kvsep.leveldb.KvsepDBFactory.bytes;
import static io.kvsep.leveldb.KvsepDBFactory.factory;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvOptions;
import io.kvsep.KvResources;
import io.kvsep.KvStore;
import io.kvsep.error.CorruptionException;
import io.kvsep.error.IncompatibleFormatException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.error.StoreNotFoundException;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.DBComparator;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.WriteOptions;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Opening, destroying and repairing. */
final class KvsepDBFactoryTest {
  @TempDir Path folder;

  private File directory() {
    return folder.resolve("some/data").toFile();
  }

  private void write(String key, String value) throws IOException {
    try (DB db = factory.open(directory(), new Options())) {
      db.put(bytes(key), bytes(value), new WriteOptions().sync(true));
    }
  }

  private @Nullable String read(String key) throws IOException {
    try (DB db = factory.open(directory(), new Options().createIfMissing(false))) {
      return asString(db.get(bytes(key)));
    }
  }

  private List<String> files() throws IOException {
    try (Stream<Path> files = Files.list(directory().toPath())) {
      return files.map(file -> file.getFileName().toString()).sorted().toList();
    }
  }

  @Test
  void whatIsMissingIsCreatedUnlessForbidden() throws IOException {
    Options existing = new Options().createIfMissing(false);
    IOException missing =
        assertThrows(IOException.class, () -> factory.open(directory(), existing));
    assertInstanceOf(StoreNotFoundException.class, missing.getCause());
    // Programs look for these words.
    String message = String.valueOf(missing.getMessage());
    assertTrue(message.contains(" does not exist "), message);
    assertFalse(directory().exists());
    write("a", "1");
    assertEquals("1", read("a"));
  }

  @Test
  void whatExistsIsRefusedIfForbidden() throws IOException {
    Options fresh = new Options().errorIfExists(true);
    factory.open(directory(), fresh).close();
    IOException exists = assertThrows(IOException.class, () -> factory.open(directory(), fresh));
    String message = String.valueOf(exists.getMessage());
    assertTrue(message.startsWith("there is a store in "), message);
    assertThrows(
        IllegalArgumentException.class,
        () -> factory.open(directory(), fresh.createIfMissing(false)));
    factory.open(directory(), new Options()).close();
  }

  @Test
  void aDatabaseIsOpenOnce() throws IOException {
    try (DB db = factory.open(directory(), new Options())) {
      IOException locked =
          assertThrows(IOException.class, () -> factory.open(directory(), new Options()));
      assertInstanceOf(StoreLockedException.class, locked.getCause());
      db.put(bytes("a"), bytes("1"));
    }
  }

  @Test
  void aFileIsNoDirectory() throws IOException {
    Path file = Files.createFile(folder.resolve("file"));
    for (boolean create : new boolean[] {true, false}) {
      IllegalArgumentException failure =
          assertThrows(
              IllegalArgumentException.class,
              () -> factory.open(file.toFile(), new Options().createIfMissing(create)));
      assertEquals("Database directory '" + file + "' is not a directory", failure.getMessage());
    }
    File below = file.resolve("below").toFile();
    IllegalArgumentException failure =
        assertThrows(IllegalArgumentException.class, () -> factory.open(below, new Options()));
    assertEquals(
        "Database directory '" + below + "' does not exist and could not be created",
        failure.getMessage());
  }

  @Test
  void aComparatorIsRefused() {
    DBComparator comparator =
        new DBComparator() {
          @Override
          public int compare(byte[] a, byte[] b) {
            return Arrays.compare(a, b);
          }

          @Override
          public String name() {
            return "mine";
          }

          @Override
          public byte[] findShortestSeparator(byte[] start, byte[] limit) {
            return start;
          }

          @Override
          public byte[] findShortSuccessor(byte[] key) {
            return key;
          }
        };
    UnsupportedOperationException refused =
        assertThrows(
            UnsupportedOperationException.class,
            () -> factory.open(directory(), new Options().comparator(comparator)));
    assertEquals(
        "kvsep orders keys as unsigned bytes; it has no comparators, such as mine",
        refused.getMessage());
    assertFalse(directory().exists());
  }

  @Test
  void sizesOfLevelDbBecomeAMemoryBudget() throws IOException {
    for (Options options :
        List.of(
            new Options().cacheSize(20 << 20),
            new Options().writeBufferSize(10 << 20),
            new Options().writeBufferSize(1000).compressionType(CompressionType.NONE))) {
      try (DB db = factory.open(directory(), options)) {
        db.put(bytes("a"), new byte[10_000]);
        assertEquals(10_000, db.get(bytes("a")).length);
      }
    }
  }

  @Test
  void aFactoryMayHaveOptionsOfKvsep() throws IOException {
    try (KvResources resources = KvResources.builder().memoryBudgetBytes(64 << 20).build()) {
      KvsepDBFactory shared = new KvsepDBFactory(() -> KvOptions.builder().resources(resources));
      Options options = new Options().cacheSize(1 << 30);
      try (DB one = shared.open(folder.resolve("one").toFile(), options);
          DB other = shared.open(folder.resolve("other").toFile(), options)) {
        one.put(bytes("a"), bytes("1"));
        assertNull(other.get(bytes("a")));
      }
      File missing = folder.resolve("missing").toFile();
      assertThrows(
          IOException.class, () -> shared.open(missing, new Options().createIfMissing(false)));
    }
  }

  @Test
  void destroyDeletesADatabaseAndItsDirectory() throws IOException {
    factory.destroy(directory(), new Options());
    write("a", "1");
    factory.destroy(directory(), new Options());
    assertFalse(directory().exists());
    assertTrue(directory().getParentFile().exists());
  }

  @Test
  void destroyLeavesFilesOfOthers() throws IOException {
    write("a", "1");
    Files.createFile(directory().toPath().resolve("notes.txt"));
    factory.destroy(directory(), new Options());
    assertEquals(List.of("notes.txt"), files());
    assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
    assertEquals(List.of("notes.txt"), files());
  }

  @Test
  void destroyRefusesAnOpenDatabase() throws IOException {
    try (DB db = factory.open(directory(), new Options())) {
      IOException open =
          assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
      assertInstanceOf(StoreLockedException.class, open.getCause());
      db.put(bytes("a"), bytes("1"));
    }
    assertEquals("1", read("a"));
  }

  @Test
  void destroyRefusesADirectoryOfLevelDb() throws IOException {
    Path directory = Files.createDirectories(directory().toPath());
    Files.writeString(directory.resolve("CURRENT"), "MANIFEST-000002\n");
    Files.write(directory.resolve("MANIFEST-000002"), new byte[100]);
    Files.write(directory.resolve("000003.log"), new byte[100]);
    IOException foreign =
        assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
    assertInstanceOf(IncompatibleFormatException.class, foreign.getCause());
    assertEquals(List.of("000003.log", "CURRENT", "MANIFEST-000002"), files());
  }

  /** Overwrites the content of the manifest behind its header. */
  private void damage() throws IOException {
    for (String name : files()) {
      if (name.startsWith("MANIFEST-")) {
        Path manifest = directory().toPath().resolve(name);
        byte[] content = Files.readAllBytes(manifest);
        content[content.length / 2] ^= 1;
        Files.write(manifest, content);
      }
    }
  }

  @Test
  void destroyDeletesADamagedDatabase() throws IOException {
    write("a", "1");
    damage();
    IOException damaged =
        assertThrows(IOException.class, () -> factory.open(directory(), new Options()));
    assertInstanceOf(CorruptionException.class, damaged.getCause());
    factory.destroy(directory(), new Options());
    assertFalse(directory().exists());
  }

  /** The files of LevelDB and RocksDB have the names of kvsep's. */
  @Test
  void destroyLeavesADamagedDirectoryOfOthers() throws IOException {
    Path directory = Files.createDirectories(directory().toPath());
    Files.write(directory.resolve("000005.sst"), new byte[] {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
    Files.writeString(directory.resolve("MANIFEST-000002"), "manifest of LevelDB");
    Files.createFile(directory.resolve("LOCK"));
    for (byte[] current : List.of(new byte[0], new byte[40], new byte[20])) {
      List<String> before = files();
      assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
      assertEquals(before, files());
      Files.write(directory.resolve("CURRENT"), current);
    }
    List<String> before = files();
    assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
    assertEquals(before, files());
  }

  @Test
  void destroyDeletesADatabaseWithoutCurrentButNoTableOfOthers() throws IOException {
    write("a", "1");
    Path directory = directory().toPath();
    Files.write(directory.resolve("CURRENT"), new byte[0]);
    Files.writeString(directory.resolve("000777.sst"), "table of LevelDB");
    assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
    assertEquals(List.of("000777.sst"), files());

    Files.delete(directory.resolve("000777.sst"));
    write("a", "1");
    Files.delete(directory.resolve("CURRENT"));
    factory.destroy(directory(), new Options());
    assertFalse(directory().exists());
  }

  @Test
  void destroyRefusesAnOpenDatabaseWithoutCurrent() throws IOException {
    Path current = directory().toPath().resolve("CURRENT");
    try (DB db = factory.open(directory(), new Options())) {
      byte[] content = Files.readAllBytes(current);
      for (byte[] damaged : List.of(new byte[0], Arrays.copyOf(content, 20))) {
        Files.write(current, damaged);
        List<String> before = files();
        IOException open =
            assertThrows(IOException.class, () -> factory.destroy(directory(), new Options()));
        assertInstanceOf(StoreLockedException.class, open.getCause());
        assertEquals(before, files());
      }
      Files.write(current, content);
      db.put(bytes("a"), bytes("1"));
    }
    assertEquals("1", read("a"));
  }

  /** What destroy looks for in damaged databases. */
  @Test
  void allFilesOfAStoreBeginWithItsName() throws IOException {
    try (DB db = factory.open(directory(), new Options())) {
      for (int i = 0; i < 100; i++) {
        db.put(bytes("key" + i), new byte[1_000]);
      }
      KvsepDBFactory.store(db).flush();
      db.compactRange(null, null);
    }
    List<String> files = files();
    for (String part : List.of(".sst", ".vlog", "MANIFEST-", "CURRENT")) {
      assertTrue(files.stream().anyMatch(name -> name.contains(part)), files.toString());
    }
    for (String name : files) {
      if (!name.equals("LOCK")) {
        byte[] start = Arrays.copyOf(Files.readAllBytes(directory().toPath().resolve(name)), 5);
        assertTrue("kvsep".equalsIgnoreCase(asString(start)), name);
      }
    }
  }

  @Test
  void repairPutsANewDatabaseInPlaceOfADamagedOne() throws IOException {
    write("a", "1");
    damage();
    factory.repair(directory(), new Options());
    assertEquals("1", read("a"));
    Path damaged = folder.resolve("some/data.damaged");
    assertTrue(Files.exists(damaged.resolve("CURRENT")));
    assertThrows(IOException.class, () -> factory.repair(directory(), new Options()));
    assertEquals("1", read("a"));
  }

  @Test
  void aRepairThatCannotMoveTheNewDatabaseLeavesTheDamagedOne() throws IOException {
    write("a", "1");
    Path damaged = folder.resolve("some/data.damaged");
    Path repaired = folder.resolve("some/data.repaired");
    assertThrows(
        IOException.class, () -> KvsepDBFactory.replace(directory().toPath(), damaged, repaired));
    assertFalse(Files.exists(damaged));
    assertEquals("1", read("a"));
  }

  @Test
  void noDatabaseIsCreatedWhereARepairWasInterrupted() throws IOException {
    write("a", "1");
    Path damaged = folder.resolve("some/data.damaged");
    Path repaired = folder.resolve("some/data.repaired");
    KvStore.repair(directory().toPath(), repaired);
    Files.move(directory().toPath(), damaged);
    for (boolean create : new boolean[] {true, false}) {
      IOException interrupted =
          assertThrows(
              IOException.class,
              () -> factory.open(directory(), new Options().createIfMissing(create)));
      String message = String.valueOf(interrupted.getMessage());
      assertTrue(message.endsWith("move '" + repaired + "' there"), message);
      assertFalse(directory().exists());
    }
    Files.move(repaired, directory().toPath());
    assertEquals("1", read("a"));
  }

  @Test
  void repairNeedsADatabase() throws IOException {
    assertThrows(IOException.class, () -> factory.repair(directory(), new Options()));
    Files.createDirectories(directory().toPath());
    assertThrows(IOException.class, () -> factory.repair(directory(), new Options()));
    assertEquals(List.of(), files());
  }

  @Test
  void onlyItsOwnDatabasesHaveAStore() throws IOException {
    try (DB db = factory.open(directory(), new Options())) {
      db.put(bytes("a"), bytes("1"));
      Path copy = folder.resolve("copy");
      KvsepDBFactory.store(db).checkpoint(copy);
      try (DB copied = factory.open(copy.toFile(), new Options())) {
        assertEquals("1", asString(copied.get(bytes("a"))));
      }
    }
    assertNull(bytes(null));
    assertNull(asString(null));
    assertEquals("kvsep", factory.toString());
  }
}
