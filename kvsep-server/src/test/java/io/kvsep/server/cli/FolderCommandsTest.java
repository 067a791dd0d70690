package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.EntryInfo;
import io.kvsep.KvStore;
import io.kvsep.KvView;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** ingest and export. */
final class FolderCommandsTest {
  @TempDir Path folder;
  private Path store = Path.of("");
  private Path source = Path.of("");
  private Path target = Path.of("");

  @BeforeEach
  void nameFolders() throws IOException {
    store = folder.resolve("store");
    source = Files.createDirectory(folder.resolve("source"));
    target = folder.resolve("target");
  }

  private CommandRun run(String command, Path path, String... options) {
    List<String> all = new ArrayList<>(List.of(command, "--dir", store.toString()));
    all.add(path.toString());
    all.addAll(List.of(options));
    return CommandRun.of(all.toArray(String[]::new));
  }

  private static void write(Path file, byte[] content) throws IOException {
    Files.createDirectories(file.getParent());
    Files.write(file, content);
  }

  private void put(String key, String value) {
    try (KvStore open = KvStore.open(store)) {
      open.put(key.getBytes(UTF_8), value.getBytes(UTF_8));
    }
  }

  /** Relative path to content, as text of one character per byte. */
  private static Map<String, String> content(Path root) throws IOException {
    Map<String, String> content = new TreeMap<>();
    try (Stream<Path> files = Files.walk(root)) {
      for (Path file :
          files.filter(f -> Files.isRegularFile(f, LinkOption.NOFOLLOW_LINKS)).toList()) {
        content.put(
            root.relativize(file).toString(),
            new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1));
      }
    }
    return content;
  }

  @Test
  void filesGoIntoAKeyspaceAndExpire() throws IOException {
    write(source.resolve("short"), "content".getBytes(UTF_8));
    write(source.resolve("long"), new byte[3_000_000]);
    run("ingest", source, "--keyspace", "files", "--ttl", "2h").succeeds();
    try (KvStore open = KvStore.open(store)) {
      assertEquals(List.of("files"), open.keyspaces());
      KvView files = open.in(open.keyspace("files"));
      for (String key : List.of("short", "long")) {
        EntryInfo info = files.info(key.getBytes(UTF_8));
        assertTrue(info != null && info.expiresAtMillis().isPresent(), key);
      }
      assertFalse(open.contains("short".getBytes(UTF_8)));
    }
  }

  @Test
  void whatWentInComesOutByteForByte() throws IOException {
    Random random = new Random(11);
    for (int i = 0; i < 1500; i++) {
      byte[] content = new byte[random.nextInt(i % 100 == 0 ? 300_000 : 2000)];
      random.nextBytes(content);
      write(source.resolve("many/" + i % 7 + "/" + i), content);
    }
    write(source.resolve("long"), new byte[3_000_000]);
    write(source.resolve("empty"), new byte[0]);
    write(source.resolve("Grüße/日本語/😀 with blanks"), "unicode".getBytes(UTF_8));
    write(source.resolve(".hidden"), new byte[] {0, (byte) 0xff});
    Files.createDirectory(source.resolve("empty folder"));

    Map<String, Object> in = run("ingest", source, "--json").succeeds().json();
    Map<String, Object> out = run("export", target, "--json").succeeds().json();

    Map<String, String> expected = content(source);
    assertEquals(expected, content(target));
    assertEquals(1504L, in.get("files"));
    assertEquals(1504L, out.get("files"));
    assertEquals(expected.values().stream().mapToLong(String::length).sum(), in.get("bytes"));
    assertEquals(in.get("bytes"), out.get("bytes"));
    assertEquals(0L, in.get("skipped"));
  }

  @Test
  void reportsAreOneLineForPeopleToo() throws IOException {
    write(source.resolve("a"), new byte[1500]);

    assertTrue(run("ingest", source).succeeds().text().startsWith("stored 1 file, 1.5 kB, in "));
    assertTrue(run("export", target).succeeds().text().startsWith("wrote 1 file, 1.5 kB, in "));
  }

  @Test
  void ingestingAgainReplacesContent() throws IOException {
    write(source.resolve("a"), new byte[] {1});
    run("ingest", source).succeeds();
    write(source.resolve("a"), new byte[] {2, 3});
    run("ingest", source).succeeds();

    assertArrayEquals(
        new byte[] {2, 3}, CommandRun.of("get", "--dir", store.toString(), "a").output());
  }

  @Test
  void linksAreNotFollowed() throws IOException {
    write(source.resolve("a"), new byte[] {1});
    Files.createSymbolicLink(source.resolve("loop"), source);
    Files.createSymbolicLink(source.resolve("b"), source.resolve("a"));
    Files.createSymbolicLink(source.resolve("broken"), source.resolve("none"));

    assertEquals(1L, run("ingest", source, "--json").succeeds().json().get("files"));
  }

  @Test
  void aFolderGivenAsALinkIsWalked() throws IOException {
    write(source.resolve("a"), new byte[] {1});
    Path link = Files.createSymbolicLink(folder.resolve("link"), source);

    assertEquals(1L, run("ingest", link, "--json").succeeds().json().get("files"));
  }

  @Test
  void theStoreInsideTheFolderIsLeftOut() throws IOException {
    store = source.resolve("inside").resolve("store");
    write(source.resolve("a"), new byte[] {1});

    assertEquals(1L, run("ingest", source, "--json").succeeds().json().get("files"));
    assertEquals(1L, run("ingest", source, "--json").succeeds().json().get("files"));
    assertEquals(store + " is the store itself", run("ingest", store).failsWith(1));
  }

  @Test
  void unreadableFilesAreLeftOutAndReported() throws IOException {
    write(source.resolve("a"), new byte[] {1});
    write(source.resolve("secret"), new byte[] {1});
    Files.setPosixFilePermissions(
        source.resolve("secret"), PosixFilePermissions.fromString("---------"));
    assumeTrue(!Files.isReadable(source.resolve("secret")), "the administrator reads everything");

    CommandRun run = run("ingest", source, "--json");

    assertEquals(1L, run.json().get("files"));
    assertEquals(1L, run.json().get("skipped"));
    assertTrue(run.failsWith(1).startsWith("1 file was not stored: "), run.errors());
  }

  @Test
  void aMissingFolderIsReportedBeforeAStoreIsMade() throws IOException {
    assertEquals(
        source.resolve("none") + ": no such folder",
        run("ingest", source.resolve("none")).failsWith(1));
    Path file = Files.createFile(folder.resolve("file"));
    assertEquals(file + ": not a folder", run("ingest", file).failsWith(1));
    assertFalse(Files.exists(store));
  }

  @Test
  void exportIntoAFileIsRefused() throws IOException {
    put("a", "1");
    assertEquals(
        store.resolveSibling("file") + ": not a folder",
        run("export", Files.createFile(folder.resolve("file"))).failsWith(1));
  }

  @Test
  void exportOfNoStoreMakesNothing() {
    assertTrue(run("export", target).failsWith(1).startsWith("no store in "));
    assertFalse(Files.exists(target));
  }

  @Test
  void oneKeyspaceOrAllAreExported() throws IOException {
    put("a", "own");
    try (KvStore open = KvStore.open(store)) {
      open.in(open.keyspace("users")).put("b/1".getBytes(UTF_8), "ada".getBytes(UTF_8));
      open.in(open.keyspace("..")).put("c".getBytes(UTF_8), "out".getBytes(UTF_8));
      open.in(open.keyspace("x/y")).put("d".getBytes(UTF_8), "slash".getBytes(UTF_8));
    }
    List<String> lines = run("export", target).succeeds().lines();
    assertEquals("without 3 keyspaces: --all-keyspaces exports all", lines.get(1));
    assertEquals(Map.of("a", "own"), content(target));
    assertEquals(
        1, run("export", folder.resolve("u"), "--keyspace", "users").succeeds().lines().size());
    assertEquals(Map.of("b/1", "ada"), content(folder.resolve("u")));

    CommandRun all = run("export", folder.resolve("all"), "--all-keyspaces");

    assertTrue(all.failsWith(1).startsWith("2 keys were not exported, the first: "), all.errors());
    assertEquals(Map.of("default/a", "own", "users/b/1", "ada"), content(folder.resolve("all")));
    run("export", target, "--all-keyspaces", "--keyspace", "users").failsWith(2);
    try (KvStore open = KvStore.open(store)) {
      open.keyspace("default");
    }
    assertTrue(
        run("export", folder.resolve("x"), "--all-keyspaces")
            .failsWith(1)
            .startsWith("a keyspace has the name default"));
  }

  @Test
  void onlyKeysWithThePrefixAreExported() throws IOException {
    put("a/1", "one");
    put("b/1", "two");

    run("export", target, "--prefix", "a/").succeeds();

    assertEquals(Map.of("a/1", "one"), content(target));
  }

  @Test
  void noKeyLeadsOutOfTheFolder() throws IOException {
    target = folder.resolve("deep/target");
    for (String key :
        List.of(
            "../out",
            "a/../../out",
            "..",
            ".",
            "/etc/out",
            "a//b",
            "a/",
            "/",
            "a/./b",
            "nul\0",
            "nul\0/x")) {
      put(key, "evil");
    }
    try (KvStore open = KvStore.open(store)) {
      open.put(new byte[] {'x', (byte) 0xff}, new byte[0]);
    }
    put("good", "value");

    CommandRun run = run("export", target);

    String refusal = run.failsWith(1);
    assertTrue(refusal.startsWith("12 keys were not exported, the first: "), refusal);
    assertEquals(Map.of("good", "value"), content(target));
    assertFalse(Files.exists(folder.resolve("out")));
    assertFalse(Files.exists(folder.resolve("deep/out")));
  }

  @Test
  void linksInsideTheFolderLeadNowhere() throws IOException {
    Path outside = Files.createDirectory(folder.resolve("outside"));
    Path victim = Files.writeString(outside.resolve("victim"), "untouched");
    Files.createDirectory(target);
    Files.createSymbolicLink(target.resolve("link"), outside);
    Files.createSymbolicLink(target.resolve("file"), victim);
    put("link/new", "evil");
    put("link/victim", "evil");
    put("file", "replaces the link");

    assertTrue(run("export", target).failsWith(1).startsWith("3 keys were not exported"));
    assertTrue(run("export", target, "--force").failsWith(1).startsWith("2 keys"));

    assertEquals(Map.of("victim", "untouched"), content(outside));
    assertEquals("replaces the link", Files.readString(target.resolve("file")));
    assertFalse(Files.isSymbolicLink(target.resolve("file")));
  }

  @Test
  void filesThatExistStayUnlessForced() throws IOException {
    put("a", "new");
    put("b", "new");
    put("folder", "new");
    write(target.resolve("a"), "old".getBytes(UTF_8));
    write(target.resolve("folder/x"), "old".getBytes(UTF_8));

    String refusal = run("export", target).failsWith(1);
    assertTrue(refusal.contains("a: exists there already (--force replaces)"), refusal);
    assertEquals(Map.of("a", "old", "b", "new", "folder/x", "old"), content(target));

    refusal = run("export", target, "--force").failsWith(1);
    assertEquals("1 key was not exported: folder: is a folder there", refusal);
    assertEquals(Map.of("a", "new", "b", "new", "folder/x", "old"), content(target));
  }

  @Test
  void nothingIsExportedIntoTheStoreItself() throws IOException {
    put("CURRENT", "evil");
    put("store/CURRENT", "evil");
    put("a", "good");
    Map<String, String> before = content(store);
    Path link = Files.createSymbolicLink(folder.resolve("link"), store);

    for (Path path : List.of(store, link, link.resolve("new/one"))) {
      assertEquals(
          path + " is the store itself or inside it", run("export", path, "--force").failsWith(1));
    }
    assertFalse(Files.exists(store.resolve("new")));

    assertEquals(
        "1 key was not exported: store/CURRENT: store is the store itself",
        run("export", folder, "--force").failsWith(1));
    assertEquals("good", Files.readString(folder.resolve("a")));
    assertEquals(before, content(store));
  }

  @Test
  void aKeyThatIsTooLongForAFileIsReported() throws IOException {
    put("a", "one");
    put("b" + "x".repeat(300), "no file has such a name");
    put("c", "two");

    String refusal = run("export", target).failsWith(1);
    assertTrue(refusal.startsWith("1 key was not exported: bx"), refusal);
    assertEquals(Map.of("a", "one", "c", "two"), content(target));
  }

  @Test
  void aKeyBelowAnotherKeyIsReported() throws IOException {
    put("a", "file");
    put("a/b", "no folder for it");

    assertEquals(
        "1 key was not exported: a/b: a is a file there", run("export", target).failsWith(1));
    assertEquals(Map.of("a", "file"), content(target));
  }
}
