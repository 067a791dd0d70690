package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvReader;
import io.kvsep.KvStore;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.iq80.leveldb.CompressionType;
import org.iq80.leveldb.DB;
import org.iq80.leveldb.Options;
import org.iq80.leveldb.impl.Iq80DBFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.rocksdb.ColumnFamilyDescriptor;
import org.rocksdb.ColumnFamilyHandle;
import org.rocksdb.FlushOptions;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.StringAppendOperator;

/** import of databases of other engines, which are written here by their own libraries. */
final class ImportDatabaseTest {
  @TempDir Path folder;
  private Path source = Path.of("");
  private Path store = Path.of("");
  private final NavigableMap<byte[], byte[]> model = new TreeMap<>(Arrays::compareUnsigned);

  @BeforeEach
  void nameDirectories() {
    source = folder.resolve("old");
    store = folder.resolve("new/store");
  }

  private CommandRun run(String engine, Class<?> library, String... options) {
    List<String> all =
        new ArrayList<>(
            List.of("import", "--from", engine, source.toString(), "--dir", store.toString()));
    all.addAll(List.of("--class-path", jar(library)));
    all.addAll(List.of(options));
    return CommandRun.of(all.toArray(String[]::new));
  }

  private CommandRun fromLevelDb(String... options) {
    return run("leveldb", Iq80DBFactory.class, options);
  }

  private CommandRun fromRocksDb(String... options) {
    return run("rocksdb", RocksDB.class, options);
  }

  private static String jar(Class<?> library) {
    try {
      return Path.of(library.getProtectionDomain().getCodeSource().getLocation().toURI())
          .toString();
    } catch (URISyntaxException e) {
      throw new AssertionError(e);
    }
  }

  private void writeLevelDb(Options options) throws IOException {
    Random random = new Random(1);
    for (int round = 0; round < 3; round++) {
      // The last writes stay in the log.
      try (DB db = Iq80DBFactory.factory.open(source.toFile(), options)) {
        for (int i = 0; i < 2000; i++) {
          byte[] key = ("key" + random.nextInt(3000)).getBytes(UTF_8);
          if (random.nextInt(4) == 0) {
            db.delete(key);
            model.remove(key);
          } else {
            byte[] value =
                ("value " + random.nextLong()).repeat(random.nextInt(40)).getBytes(UTF_8);
            db.put(key, value);
            model.put(key, value);
          }
        }
      }
    }
  }

  private Map<String, String> files() throws IOException {
    Map<String, String> content = new TreeMap<>();
    try (Stream<Path> files = Files.list(source)) {
      for (Path file : files.toList()) {
        content.put(
            file.getFileName() + " of " + Files.getLastModifiedTime(file),
            Files.size(file) + " bytes " + Arrays.hashCode(Files.readAllBytes(file)));
      }
    }
    return content;
  }

  private void requireImported(String... keyspace) {
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore open = KvStore.open(store, reading)) {
      KvReader reader = keyspace.length == 0 ? open : open.in(open.keyspace(keyspace[0]));
      try (KvCursor cursor = reader.cursor()) {
        for (Map.Entry<byte[], byte[]> entry : model.entrySet()) {
          assertTrue(cursor.next());
          assertArrayEquals(entry.getKey(), cursor.key());
          assertArrayEquals(entry.getValue(), cursor.value());
        }
        assertFalse(cursor.next());
      }
    }
  }

  /** Also not the copy in which the database was opened. */
  private void requireNothingImported() throws IOException {
    assertFalse(Files.exists(store));
    if (Files.exists(store.getParent())) {
      try (Stream<Path> files = Files.list(store.getParent())) {
        assertEquals(List.of(), files.toList());
      }
    }
  }

  @Test
  void aLevelDbDatabaseIsImportedAndNotChanged() throws IOException {
    writeLevelDb(new Options().writeBufferSize(100_000));
    Map<String, String> before = files();
    assertTrue(before.keySet().stream().filter(name -> name.contains(".sst")).count() > 1);
    String report = fromLevelDb().succeeds().text();
    assertTrue(report.startsWith("imported " + Amounts.count(model.size()) + " entries, "), report);
    requireImported();
    assertEquals(before, files());
    try (Stream<Path> left = Files.list(store.getParent())) {
      assertEquals(List.of(store), left.toList());
    }
  }

  /** A compaction that did not end leaves tables whose numbers LevelDB uses again. */
  @Test
  void tablesThatTheDatabaseDoesNotKnowAreNotChanged() throws IOException {
    writeLevelDb(new Options());
    for (int i = 0; i < 100; i++) {
      Path table = source.resolve(String.format(Locale.ROOT, "%06d.sst", i));
      if (Files.notExists(table)) {
        Files.write(table, new byte[] {1, 2, 3});
      }
    }
    Map<String, String> before = files();
    fromLevelDb().succeeds();
    requireImported();
    assertEquals(before, files());
  }

  @Test
  void tablesMayHaveTheNewerSuffix() throws IOException {
    writeLevelDb(new Options().writeBufferSize(100_000).compressionType(CompressionType.NONE));
    try (Stream<Path> files = Files.list(source)) {
      for (Path file : files.filter(name -> name.toString().endsWith(".sst")).toList()) {
        Files.move(file, Path.of(file.toString().replace(".sst", ".ldb")));
      }
    }
    fromLevelDb("--keyspace", "old", "--json").succeeds();
    requireImported("old");
  }

  @Test
  void anEmptyDatabaseIsImported() throws IOException {
    Iq80DBFactory.factory.open(source.toFile(), new Options()).close();
    fromLevelDb().succeeds();
    requireImported();
  }

  @Test
  void anOpenDatabaseIsRefused() throws IOException {
    try (DB db = Iq80DBFactory.factory.open(source.toFile(), new Options())) {
      db.put(new byte[] {1}, new byte[] {2});
      assertEquals(source + " is open; close it first", fromLevelDb().failsWith(1));
    }
    requireNothingImported();
  }

  @Test
  void anEmptyKeyIsLeftOutAndTold() throws IOException {
    try (DB db = Iq80DBFactory.factory.open(source.toFile(), new Options())) {
      db.put(new byte[0], new byte[] {2});
      db.put(new byte[] {1}, new byte[] {2});
    }
    model.put(new byte[] {1}, new byte[] {2});
    CommandRun run = fromLevelDb();
    assertEquals(1, run.code());
    assertTrue(run.errors().startsWith("kvsep: entry 1: the key is empty"), run.errors());
    assertTrue(run.errors().contains("1 key was not imported"), run.errors());
    requireImported();
  }

  @Test
  void aDamagedDatabaseIsNotImported() throws IOException {
    writeLevelDb(new Options().writeBufferSize(100_000));
    try (Stream<Path> files = Files.list(source)) {
      for (Path table : files.filter(name -> name.toString().endsWith(".sst")).toList()) {
        byte[] content = Files.readAllBytes(table);
        Files.write(table, Arrays.copyOf(content, content.length / 2));
      }
    }
    String failure = fromLevelDb().failsWith(1);
    assertTrue(failure.startsWith("LevelDB: "), failure);
  }

  private Path log() throws IOException {
    try (Stream<Path> files = Files.list(source)) {
      return files
          .filter(name -> name.toString().endsWith(".log"))
          .max(Path::compareTo)
          .orElseThrow();
    }
  }

  /** LevelDB leaves damaged records of its log out. */
  @Test
  void aDatabaseWithADamagedLogIsNotImported() throws IOException {
    writeLevelDb(new Options());
    Path log = log();
    byte[] content = Files.readAllBytes(log);
    Random random = new Random(7);
    for (int round = 0; round < 40; round++) {
      // Anything but the last records, which may be torn.
      int at = round < 8 ? round : random.nextInt(content.length - 5_000);
      byte[] damaged = content.clone();
      damaged[at] ^= (byte) (1 << random.nextInt(8));
      Files.write(log, damaged);
      String failure = fromLevelDb().failsWith(1);
      String expected = "LevelDB: " + log.getFileName() + " is damaged at offset ";
      assertTrue(failure.startsWith(expected), at + " of seed 7: " + failure);
      requireNothingImported();
    }
  }

  @Test
  void aLogWithLostBlocksIsNotImported() throws IOException {
    writeLevelDb(new Options());
    Path log = log();
    byte[] content = Files.readAllBytes(log);
    int block = 32 << 10;
    byte[] zeros = content.clone();
    Arrays.fill(zeros, block, 2 * block, (byte) 0);
    byte[] shorter = Arrays.copyOf(content, content.length - block);
    System.arraycopy(content, 2 * block, shorter, block, content.length - 2 * block);
    for (byte[] damaged : List.of(zeros, shorter)) {
      Files.write(log, damaged);
      fromLevelDb().failsWith(1);
      requireNothingImported();
    }
  }

  /** As a crash leaves it: the end of the file is missing, or zero. */
  @Test
  void aTornEndOfTheLogIsLeftOut() throws IOException {
    try (DB db = Iq80DBFactory.factory.open(source.toFile(), new Options())) {
      for (int i = 10; i < 99; i++) {
        model.put(("key" + i).getBytes(UTF_8), ("value" + i).repeat(200).getBytes(UTF_8));
      }
      model.forEach(db::put);
    }
    model.remove("key98".getBytes(UTF_8));
    Path log = log();
    byte[] content = Files.readAllBytes(log);
    for (int cut : List.of(1, 1_000, 1_400)) {
      byte[] torn = Arrays.copyOf(content, content.length - cut);
      for (byte[] left : List.of(torn, Arrays.copyOf(torn, 200_000))) {
        Files.write(log, left);
        fromLevelDb("--keyspace", cut + " of " + left.length).succeeds();
        requireImported(cut + " of " + left.length);
      }
    }
  }

  @Test
  void aDirectoryWithoutDatabaseIsRefused() throws IOException {
    assertEquals("no database of LevelDB in " + source, fromLevelDb().failsWith(1));
    Files.createDirectories(source);
    assertEquals("no database of RocksDB in " + source, fromRocksDb().failsWith(1));
    requireNothingImported();
  }

  @Test
  void theLibraryComesWithTheCommand() throws IOException {
    writeLevelDb(new Options());
    String directory = source.toString();
    String target = store.toString();
    for (String engine : List.of("leveldb", "rocksdb")) {
      String failure =
          CommandRun.of("import", "--from", engine, directory, "--dir", target).failsWith(2);
      assertTrue(failure.startsWith("--from needs --class-path with the library of "), failure);
    }
    assertTrue(
        run("rocksdb", Iq80DBFactory.class)
            .failsWith(1)
            .startsWith("--class-path: no class org.rocksdb.RocksDB of RocksDB"));
    assertTrue(
        CommandRun.of(
                "import", "--from", "leveldb", directory, "--dir", target, "--class-path", "no.jar")
            .failsWith(1)
            .startsWith("no.jar: no such file"));
    requireNothingImported();
  }

  @Test
  void optionsThatDoNotFitAreRefused() throws IOException {
    writeLevelDb(new Options());
    fromLevelDb("--format", "csv").failsWith(2);
    fromLevelDb("--column-family", "a").failsWith(2);
    CommandRun.of("import", "some.csv", "--class-path", "some.jar").failsWith(2);
    requireNothingImported();
  }

  private void put(RocksDB db, ColumnFamilyHandle family, int from, int to)
      throws RocksDBException {
    for (int i = from; i < to; i++) {
      byte[] key = ("key" + i % 700).getBytes(UTF_8);
      byte[] value = ("value" + i).repeat(i % 50).getBytes(UTF_8);
      db.put(family, key, value);
      model.put(key, value);
    }
  }

  @Test
  void aRocksDbDatabaseIsImportedAndNotChanged() throws Exception {
    RocksDB.loadLibrary();
    try (org.rocksdb.Options options = new org.rocksdb.Options().setCreateIfMissing(true);
        RocksDB db = RocksDB.open(options, source.toString());
        FlushOptions flushing = new FlushOptions()) {
      put(db, db.getDefaultColumnFamily(), 0, 1000);
      db.flush(flushing);
      put(db, db.getDefaultColumnFamily(), 1000, 1200);
      db.delete("key3".getBytes(UTF_8));
      model.remove("key3".getBytes(UTF_8));
    }
    Map<String, String> before = files();
    assertEquals("imported 699 entries", fromRocksDb().succeeds().text().split(",", 2)[0]);
    requireImported();
    assertEquals(before, files());
  }

  /** RocksDB would leave out what follows the first operand in its log. */
  @Test
  void aRocksDbDatabaseWithMergeOperandsIsNotImported() throws Exception {
    RocksDB.loadLibrary();
    try (StringAppendOperator append = new StringAppendOperator();
        org.rocksdb.Options options =
            new org.rocksdb.Options().setCreateIfMissing(true).setMergeOperator(append);
        RocksDB db = RocksDB.open(options, source.toString())) {
      db.put("a".getBytes(UTF_8), "1".getBytes(UTF_8));
      db.merge("a".getBytes(UTF_8), "2".getBytes(UTF_8));
      db.put("b".getBytes(UTF_8), "3".getBytes(UTF_8));
    }
    String failure = fromRocksDb().failsWith(1);
    assertTrue(failure.startsWith("RocksDB: Merge requires "), failure);
    requireNothingImported();
  }

  /** RocksDB would leave out what follows the damage. */
  @Test
  void aRocksDbDatabaseWithADamagedLogIsNotImported() throws Exception {
    writeRocksDb();
    Path log = log();
    byte[] content = Files.readAllBytes(log);
    content[content.length / 2] ^= 1;
    Files.write(log, content);
    String failure = fromRocksDb().failsWith(1);
    assertTrue(failure.startsWith("RocksDB: "), failure);
    requireNothingImported();
  }

  @Test
  void aTornEndOfTheLogOfRocksDbIsLeftOut() throws Exception {
    writeRocksDb();
    Path log = log();
    byte[] content = Files.readAllBytes(log);
    Files.write(log, Arrays.copyOf(content, content.length - 1));
    model.remove("key99".getBytes(UTF_8));
    fromRocksDb().succeeds();
    requireImported();
  }

  private void writeRocksDb() throws RocksDBException {
    RocksDB.loadLibrary();
    try (org.rocksdb.Options options = new org.rocksdb.Options().setCreateIfMissing(true);
        RocksDB db = RocksDB.open(options, source.toString())) {
      put(db, db.getDefaultColumnFamily(), 0, 100);
    }
  }

  @Test
  void oneColumnFamilyIsImportedAtATime() throws Exception {
    RocksDB.loadLibrary();
    try (org.rocksdb.Options options = new org.rocksdb.Options().setCreateIfMissing(true);
        RocksDB db = RocksDB.open(options, source.toString());
        ColumnFamilyHandle people =
            db.createColumnFamily(new ColumnFamilyDescriptor("people".getBytes(UTF_8)))) {
      db.put("other".getBytes(UTF_8), "1".getBytes(UTF_8));
      put(db, people, 0, 100);
    }
    assertEquals(
        "the database has column families: [default, people]; name one with --column-family",
        fromRocksDb().failsWith(1));
    assertEquals(
        "no such column family: animals; there are [default, people]",
        fromRocksDb("--column-family", "animals").failsWith(1));
    requireNothingImported();
    fromRocksDb("--column-family", "people", "--keyspace", "people").succeeds();
    requireImported("people");
    fromRocksDb("--column-family", "default").succeeds();
    model.clear();
    model.put("other".getBytes(UTF_8), "1".getBytes(UTF_8));
    requireImported();
  }
}
