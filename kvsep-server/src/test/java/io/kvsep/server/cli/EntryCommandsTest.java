package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** put, get and delete. */
final class EntryCommandsTest {
  @TempDir Path folder;
  private String store = "";

  @BeforeEach
  void nameStore() {
    store = folder.resolve("store").toString();
  }

  private CommandRun run(String... arguments) {
    return runWithInput(new byte[0], arguments);
  }

  private CommandRun runWithInput(byte[] input, String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(1, List.of("--dir", store));
    return CommandRun.withInput(input, all.toArray(String[]::new));
  }

  @Test
  void putCreatesTheStoreAndGetWritesTheValueAndNothingElse() {
    assertEquals("", run("put", "key", "välue\n").succeeds().text());

    assertArrayEquals("välue\n".getBytes(UTF_8), run("get", "key").succeeds().output());
  }

  @Test
  void getOfAnAbsentKeyFailsAndNamesIt() {
    run("put", "key", "value").succeeds();

    CommandRun run = run("get", "other");
    assertEquals("no such key: other", run.failsWith(1));
    assertEquals(0, run.output().length);
    assertEquals("no such key: 0xff", run("get", "--key-hex", "ff").failsWith(1));
  }

  @Test
  void deleteTakesRangesAndPrefixes() {
    for (String key : List.of("a", "b1", "b2", "c", "d")) {
      run("put", key, "value").succeeds();
    }
    run("put", "--key-hex", "ffff", "value").succeeds();
    run("delete", "--prefix", "b").succeeds();
    assertEquals("a\nc\nd\n0xffff\n", run("scan", "--keys-only").succeeds().text());
    run("delete", "--from", "a", "--to", "d").succeeds();
    assertEquals("d\n0xffff\n", run("scan", "--keys-only").succeeds().text());
    run("delete", "--key-hex", "--prefix", "ff").succeeds();
    assertEquals("d\n", run("scan", "--keys-only").succeeds().text());
    assertEquals(
        "--prefix is empty; --all deletes all keys (see kvsep delete --help)",
        run("delete", "--prefix", "").failsWith(2));
    assertEquals("d\n", run("scan", "--keys-only").succeeds().text());
    run("delete", "--all").succeeds();
    assertEquals("", run("scan", "--keys-only").succeeds().text());
  }

  @Test
  void deleteOfNothingOrOfTwoThingsIsMisuse() {
    run("put", "key", "value").succeeds();
    run("delete").failsWith(2);
    run("delete", "--from", "a").failsWith(2);
    run("delete", "--to", "z").failsWith(2);
    run("delete", "key", "--prefix", "k").failsWith(2);
    run("delete", "key", "--all").failsWith(2);
    run("delete", "--prefix", "k", "--from", "a", "--to", "z").failsWith(2);
    assertEquals("key\n", run("scan", "--keys-only").succeeds().text());
  }

  @Test
  void commandsWorkInAKeyspace() {
    run("put", "key", "store").succeeds();
    run("put", "key", "user", "--keyspace", "users").succeeds();
    assertEquals("user", run("get", "key", "--keyspace", "users").succeeds().text());
    assertEquals("store", run("get", "key").succeeds().text());
    assertEquals("key\tuser\n", run("scan", "--keyspace", "users").succeeds().text());
    run("delete", "key", "--keyspace", "users").succeeds();
    assertEquals("", run("scan", "--keyspace", "users").succeeds().text());
    assertEquals("store", run("get", "key").succeeds().text());
    assertEquals("no such keyspace: none", run("get", "key", "--keyspace", "none").failsWith(1));
    assertEquals("no such keyspace: none", run("delete", "key", "--keyspace", "none").failsWith(1));
  }

  @Test
  void aNameThatNoKeyspaceMayHaveIsMisuseAndMakesNoStore() throws IOException {
    Path file = Files.writeString(folder.resolve("entries.csv"), "key,value\n");
    for (String name : List.of("", "x".repeat(256), "\uD800")) {
      String refusal = run("put", "key", "value", "--keyspace", name).failsWith(2);
      assertTrue(refusal.contains("--keyspace"), refusal);
      run("import", file.toString(), "--keyspace", name).failsWith(2);
      assertFalse(Files.exists(Path.of(store)));
    }
    String longest = "x".repeat(255);
    run("put", "key", "value", "--keyspace", longest).succeeds();
    assertEquals("value", run("get", "key", "--keyspace", longest).succeeds().text());
  }

  @Test
  void binaryKeysAndValuesAreGivenInHexadecimal() {
    run("put", "--key-hex", "00ff", "--value-hex", "0x8000").succeeds();

    assertArrayEquals(new byte[] {(byte) 0x80, 0}, run("get", "--key-hex", "0x00FF").output());
    run("delete", "--key-hex", "00ff").succeeds();
    run("get", "--key-hex", "00ff").failsWith(1);
  }

  @Test
  void valuesComeFromFilesAndStandardInputByteForByte() throws IOException {
    byte[] content = new byte[3_000_000];
    new Random(7).nextBytes(content);
    Path file = Files.write(folder.resolve("content"), content);

    run("put", "file", "--value-file", file.toString()).succeeds();
    runWithInput(content, "put", "input", "-").succeeds();
    runWithInput(content, "put", "input2", "--value-file", "-").succeeds();
    runWithInput(new byte[0], "put", "nothing", "-").succeeds();

    assertArrayEquals(content, run("get", "file").succeeds().output());
    assertArrayEquals(content, run("get", "input").succeeds().output());
    assertArrayEquals(content, run("get", "input2").succeeds().output());
    assertEquals(0, run("get", "nothing").succeeds().output().length);
  }

  @Test
  void getWritesToAFileAndLeavesItAloneWhenTheKeyIsAbsent() throws IOException {
    Path target = folder.resolve("target");
    run("put", "key", "value").succeeds();

    assertEquals("", run("get", "key", "--output", target.toString()).succeeds().text());
    assertEquals("value", Files.readString(target));
    run("get", "other", "--output", target.toString()).failsWith(1);
    assertEquals("value", Files.readString(target));
    String refusal = run("get", "key", "--output", target + "/x").failsWith(1);
    assertTrue(refusal.contains("target"), refusal);
  }

  /** An interrupted thread cannot write to a file. */
  @Test
  void getLeavesNoFileThatItCouldNotWriteToItsEnd() throws IOException {
    run("put", "key", "value").succeeds();
    Path target = Files.createDirectory(folder.resolve("target"));
    Thread.currentThread().interrupt();
    CommandRun run = run("get", "key", "--output", target.resolve("file").toString());
    assertTrue(Thread.interrupted());
    assertEquals(1, run.code());
    try (Stream<Path> files = Files.list(target)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void keysAndValuesThatLookLikeOptionsOrFilesOfArgumentsAreJustText() throws IOException {
    Path file = Files.writeString(folder.resolve("arguments"), "other");

    run("put", "@" + file, "${user.home}").succeeds();
    run("put", "--", "--help", "-x").succeeds();
    run("put", "\"quoted\"", "").succeeds();

    assertEquals("${user.home}", run("get", "@" + file).succeeds().text());
    assertEquals("-x", run("get", "--", "--help").succeeds().text());
    assertEquals("", run("get", "\"quoted\"").succeeds().text());
  }

  @Test
  void timeToLiveIsKeptWithTheEntry() {
    long before = System.currentTimeMillis();
    run("put", "key", "value", "--ttl", "2h").succeeds();
    long after = System.currentTimeMillis();

    try (KvStore open = KvStore.open(Path.of(store));
        KvCursor cursor = open.cursor()) {
      assertTrue(cursor.next());
      long expiry = cursor.expiresAtMillis().orElseThrow();
      assertTrue(before + 7_200_000 <= expiry && expiry <= after + 7_200_000);
    }
  }

  @Test
  void incrementCountsAsTheLibraryDoes() {
    assertEquals("1\n", run("increment", "n").succeeds().text());
    assertEquals("-4\n", run("increment", "n", "--by", "-5").succeeds().text());
    try (KvStore open = KvStore.open(Path.of(store))) {
      assertEquals(-3, open.increment("n".getBytes(UTF_8), 1));
    }
    assertEquals("7\n", run("increment", "n", "--keyspace", "k", "--by", "7").succeeds().text());
    run("put", "text", "41").succeeds();
    assertEquals(
        "no counter: the value of text has 2 bytes, not 8 (--text adds to decimal text)",
        run("increment", "text").failsWith(1));
    run("put", "max", "--value-hex", "7fffffffffffffff").succeeds();
    assertEquals("the sum does not fit into 64 bits", run("increment", "max").failsWith(1));
  }

  @Test
  void incrementOfTextKeepsTheTimeToLive() {
    assertEquals("2\n", run("increment", "--text", "n", "--by", "2").succeeds().text());
    assertEquals("2", run("get", "n").succeeds().text());
    run("put", "n", "-1", "--ttl", "1h").succeeds();
    assertEquals("0\n", run("increment", "--text", "n").succeeds().text());
    assertTrue(run("scan", "--json", "--prefix", "n").text().contains("expiresAtMillis"));
    run("put", "max", "9223372036854775807").succeeds();
    run("increment", "--text", "max").failsWith(1);
    for (String other : List.of("", "1.5", "007", "-0", "9223372036854775808", "x")) {
      run("put", "other", other).succeeds();
      assertEquals(
          "the value of other is no decimal number of 64 bits",
          run("increment", "--text", "other").failsWith(1));
    }
  }

  @Test
  void casSetsWhatIsAsExpectedAndNothingElse() throws IOException {
    run("cas", "key", "one", "--absent").succeeds();
    assertEquals("exists already: key", run("cas", "key", "two", "--absent").failsWith(1));
    assertEquals(
        "has another value: key", run("cas", "key", "two", "--expected", "no").failsWith(1));
    assertEquals("no such key: other", run("cas", "other", "x", "--expected", "").failsWith(1));
    assertEquals("one", run("get", "key").succeeds().text());
    run("cas", "key", "two", "--expected", "one").succeeds();
    run("cas", "key", "--value-hex", "ff", "--expected", "74776f", "--expected-hex").succeeds();
    Path file = Files.writeString(folder.resolve("value"), "from a file");
    run("cas", "key", "--value-file", "" + file, "--expected", "ff", "--expected-hex").succeeds();
    assertEquals("from a file", run("get", "key").succeeds().text());
    run("cas", "key", "x", "--absent", "--keyspace", "k").succeeds();
    assertEquals(
        "no such keyspace: none",
        run("cas", "key", "y", "--expected", "x", "--keyspace", "none").failsWith(1));
  }

  @Test
  void deleteRemovesAndIsContentWhenThereIsNothing() {
    run("put", "key", "value").succeeds();

    run("delete", "key").succeeds();
    run("delete", "key").succeeds();

    run("get", "key").failsWith(1);
  }

  @Test
  void onlyPutCreatesAStore() {
    for (String command : List.of("get", "delete")) {
      String refusal = run(command, "key").failsWith(1);
      assertTrue(refusal.startsWith("no store in " + store), refusal);
    }
    assertFalse(Files.exists(Path.of(store)));
  }

  @Test
  void limitsAreReported() {
    assertEquals("the key is empty", run("put", "", "value").failsWith(1));
    Path none = folder.resolve("none");
    assertEquals(
        "the key is empty", CommandRun.of("put", "", "v", "--dir", none.toString()).failsWith(1));
    assertFalse(Files.exists(none));
    String refusal = run("put", "x".repeat(65_536), "value").failsWith(1);
    assertTrue(refusal.contains("65,536") || refusal.contains("65536"), refusal);
  }

  @Test
  void contradictingOrImpossibleArgumentsAreMisuse() {
    assertTrue(run("put", "key").failsWith(2).startsWith("give either VALUE or --value-file"));
    run("put", "key", "value", "--value-file", "x").failsWith(2);
    run("put", "key", "--value-hex", "--value-file", "x").failsWith(2);
    run("put", "key", "--value-hex", "abc").failsWith(2);
    run("get", "--key-hex", "zz").failsWith(2);
    run("put", "key", "value", "--ttl", "0s").failsWith(2);
    run("put", "key", "value", "more").failsWith(2);
    run("put", "\uFFFD", "value").failsWith(2);
    run("get", "\uD800").failsWith(2);
    run("put", "key", "value", "--keyspace", "\uFFFD").failsWith(2);
    String path = CommandRun.of("put", "key", "value", "--dir", "a\0b").failsWith(2);
    assertTrue(path.startsWith("Invalid value for option '--dir': no path in this locale"), path);
    path = run("restore", "a\0b").failsWith(1);
    assertTrue(path.startsWith("no path in this locale"), path);
    assertFalse(Files.exists(Path.of(store)));
  }

  @Test
  void aMissingValueFileIsReported() {
    String refusal =
        run("put", "key", "--value-file", folder.resolve("none").toString()).failsWith(1);

    assertTrue(refusal.endsWith("none: no such file or directory"), refusal);
    assertEquals(
        folder + ": is a directory",
        run("put", "key", "--value-file", folder.toString()).failsWith(1));
    assertFalse(Files.exists(Path.of(store)));
  }
}
