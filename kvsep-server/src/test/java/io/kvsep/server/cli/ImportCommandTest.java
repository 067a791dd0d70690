package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** import, of each format. */
final class ImportCommandTest {
  @TempDir Path folder;
  private Path store = Path.of("");

  @BeforeEach
  void nameStore() {
    store = folder.resolve("store");
  }

  private Path file(String name, String text) throws IOException {
    return Files.write(folder.resolve(name), text.getBytes(UTF_8));
  }

  private CommandRun run(Path file, String... options) {
    return withInput(new byte[0], file.toString(), options);
  }

  private CommandRun withInput(byte[] input, String file, String... options) {
    List<String> all = new ArrayList<>(List.of("import", file, "--dir", store.toString()));
    all.addAll(List.of(options));
    return CommandRun.withInput(input, all.toArray(String[]::new));
  }

  /** Everything in the store, bytes as characters. */
  private Map<String, String> content(String... keyspace) {
    Map<String, String> content = new TreeMap<>();
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore open = KvStore.open(store, reading);
        KvCursor cursor =
            keyspace.length == 0 ? open.cursor() : open.in(open.keyspace(keyspace[0])).cursor()) {
      while (cursor.next()) {
        content.put(new String(cursor.key(), ISO_8859_1), new String(cursor.value(), ISO_8859_1));
      }
    }
    return content;
  }

  private static String latin(String text) {
    return new String(text.getBytes(UTF_8), ISO_8859_1);
  }

  @Test
  void csvMayBeQuotedHaveAHeaderAndAnotherSeparator() throws IOException {
    String text =
        "name;what\r\nb;\"two\r\nlines; and \"\"quotes\"\"\"\na;\n\n\u00fc;\u4e16\nlast;one";
    Path csv = file("some.csv", text);
    assertEquals(
        "imported 4 entries",
        run(csv, "--header", "--separator", ";").succeeds().text().split(",", 2)[0]);
    assertEquals(
        Map.of(
            "b",
            "two\r\nlines; and \"quotes\"",
            "a",
            "",
            latin("\u00fc"),
            latin("\u4e16"),
            "last",
            "one"),
        content());
  }

  @Test
  void csvMayHaveAnyColumns() throws IOException {
    String text = "name,id,note\nAda,7,\"a \"\"b\"\", c\"\nBob,8\nEve,,x\nZo\u00eb,9,\n";
    Path csv = file("people.csv", text);
    CommandRun run = run(csv, "--key-column", "id");
    assertEquals(1, run.code());
    List<String> told = run.errors().lines().toList();
    assertEquals("kvsep: line 3: 3 columns are wanted, not 2", told.get(0));
    assertEquals("kvsep: line 4: the key is empty", told.get(1));
    assertEquals(3, told.size());
    assertEquals(
        Map.of(
            "7",
            "{\"name\":\"Ada\",\"note\":\"a \\\"b\\\", c\"}",
            "9",
            latin("{\"name\":\"Zo\u00eb\",\"note\":\"\"}")),
        content());
    run(csv, "--key-column", "id", "--value", "columns", "--keyspace", "columns");
    assertEquals(
        Map.of("7", "Ada,\"a \"\"b\"\", c\"", "9", latin("Zo\u00eb,")), content("columns"));
    Path two = file("two.csv", "value;key\n\"a;b\";k\n");
    run(two, "--key-column", "key", "--separator", ";", "--value", "columns", "--keyspace", "two")
        .succeeds();
    assertEquals(Map.of("k", "a;b"), content("two"));
  }

  @Test
  void aTableWithoutTheColumnMakesNoStore() throws IOException {
    Path csv = file("people.csv", "name,id\nAda,7\n");
    assertEquals(
        "--key-column: no column key in name, id", run(csv, "--key-column", "key").failsWith(1));
    assertEquals(
        "--key-column: no column key, the file is empty",
        run(file("empty.csv", ""), "--key-column", "key").failsWith(1));
    assertEquals(
        "two columns have the name a",
        run(file("twice.csv", "a,b,a\n"), "--key-column", "b").failsWith(1));
    run(csv, "--value", "json").failsWith(2);
    run(csv, "--key-column", "id", "--value", "xml").failsWith(2);
    run(file("some.jsonl", "{}"), "--key-column", "id").failsWith(2);
    assertFalse(Files.exists(store));
  }

  @Test
  void entriesWithoutAnExpiryGetTheTimeToLive() throws IOException {
    String text =
        """
        {"key":"a","value":"1"}
        {"key":"b","value":"2","expiresAtMillis":99999999999999}
        """;
    long before = System.currentTimeMillis();
    run(file("some.jsonl", text), "--ttl", "2h").succeeds();
    long after = System.currentTimeMillis();
    try (KvStore open = KvStore.open(store);
        KvCursor cursor = open.cursor()) {
      assertTrue(cursor.next());
      long expiry = cursor.expiresAtMillis().orElseThrow();
      assertTrue(before + 7_200_000 <= expiry && expiry <= after + 7_200_000);
      assertTrue(cursor.next());
      assertEquals(99999999999999L, cursor.expiresAtMillis().orElseThrow());
    }
    run(file("long.csv", "c,3\n"), "--ttl", "999999999999d").succeeds();
    assertEquals("3", content().get("c"));
  }

  @Test
  void aByteOrderMarkIsNoPartOfTheFirstKey() throws IOException {
    run(file("some.csv", "\ufeffa,1\nb,2\n")).succeeds();
    run(file("quoted.csv", "\ufeff\"c\",3\n")).succeeds();
    run(file("header.csv", "\ufeffname,what\n\ufeffd,4\n"), "--header").succeeds();
    run(file("short.csv", "e,")).succeeds();
    assertEquals(Map.of("a", "1", "b", "2", "c", "3", latin("\ufeffd"), "4", "e", ""), content());
  }

  @Test
  void whatSeparatesNoColumnsIsRefusedBeforeAStoreIsMade() throws IOException {
    Path csv = file("some.csv", "a,1\n");
    for (String separator : List.of("\"", "\r", "\n")) {
      String refusal = run(csv, "--separator", separator).failsWith(2);
      assertTrue(refusal.startsWith("--separator: "), refusal);
    }
    assertFalse(Files.exists(store));
    run(file("some.jsonl", "{\"key\":\"a\",\"value\":\"1\"}"), "--separator", "\"").succeeds();
  }

  @Test
  void badLinesAreToldOfByTheirNumbersAndLeftOut() throws IOException {
    String text = "a,1\nb\nc,2,3\n\"x\ny\",4\n,5\nlast,6\n" + "k".repeat(70_000) + ",7\n";
    CommandRun run = run(file("bad.csv", text));
    assertEquals(1, run.code());
    List<String> told = run.errors().lines().toList();
    assertEquals(5, told.size(), run.errors());
    List<String> lines = List.of("line 2", "line 3", "line 6", "line 8");
    for (int i = 0; i < lines.size(); i++) {
      assertTrue(told.get(i).startsWith("kvsep: " + lines.get(i) + ": "), told.get(i));
    }
    assertTrue(told.get(4).startsWith("kvsep: 4 lines were not imported, the first: line 2"));
    assertEquals(Map.of("a", "1", "x\ny", "4", "last", "6"), content());
    CommandRun strict = run(file("strict.csv", "n,1\nbad\n"), "--strict");
    assertTrue(strict.failsWith(1).startsWith("line 2: "));
    assertEquals(3, content().size());
  }

  /** More of either than is common in tables. */
  @Test
  void valuesMayBeLongAndLinesHaveManyColumns() throws IOException {
    String value = "v".repeat((16 << 20) + 1);
    String columns = ",".repeat(16_384);
    String text = "a,1\nmany" + columns + "\nlong," + value + "\nlast,2\n";
    CommandRun run = run(file("long.csv", text));
    assertEquals(1, run.code());
    String told = run.errors().lines().findFirst().orElseThrow();
    assertEquals("kvsep: line 2: a key and a value are wanted, not 16385 columns", told);
    assertEquals(Map.of("a", "1", "long", value, "last", "2"), content());
    CommandRun strict = run(file("strict.csv", "n,1\nmany" + columns + "\n"), "--strict");
    assertTrue(strict.failsWith(1).startsWith("line 2: "));
    assertEquals(3, content().size());
  }

  @Test
  void jsonLinesAreTextOrBytes() throws IOException {
    String text =
        """
        {"key":"a","value":"text \\u00fc"}

        {"keyHex":"00ff","valueBase64":"AAEC"}
        {"key":"c","valueLength":3,"value":"AAEC"}
        {"key":"d","value":"AAEC","expiresAtMillis":99999999999999}
        """;
    run(file("some.jsonl", text)).succeeds();
    assertEquals(
        Map.of("a", latin("text \u00fc"), "\0\u00ff", "\0\1\2", "c", "\0\1\2", "d", "AAEC"),
        content());
    List<String> bad =
        List.of(
            "no json",
            "[]",
            "{\"key\":\"a\"}",
            "{\"value\":\"a\"}",
            "{\"key\":1,\"value\":\"a\"}",
            "{\"key\":\"\",\"value\":\"a\"}",
            "{\"key\":\"a\",\"value\":\"a\",\"valueBase64\":\"AAEC\"}",
            "{\"key\":\"a\",\"valueLength\":4,\"value\":\"AAEC\"}",
            "{\"key\":\"a\",\"valueBase64\":\"#\"}",
            "{\"keyHex\":\"0\",\"value\":\"a\"}",
            "{\"key\":\"a\",\"value\":\"b\"} more",
            "{\"key\":\"a\",\"value\":\"b\",\"other\":1}",
            "{\"key\":\"a\",\"value\":\"b\",\"expiresAtMillis\":1.5}",
            "{\"key\":\"a\",\"value\":\"b\",\"expiresAtMillis\":0}",
            "{\"key\":\"\\ud800\",\"value\":\"b\"}",
            "{\"key\":\"a\",\"value\":\"b\"");
    CommandRun run = run(file("bad.jsonl", String.join("\n", bad)));
    assertEquals(1, run.code());
    List<String> told = run.errors().lines().toList();
    assertEquals(bad.size() + 1, told.size(), run.errors());
    for (int i = 0; i < bad.size(); i++) {
      assertTrue(told.get(i).startsWith("kvsep: line " + (i + 1) + ": "), told.get(i));
    }
    assertEquals(4, content().size());
  }

  /** As a file has them that was not written to its end when the power failed. */
  @Test
  void aLineOfJsonThatBeginsWithZerosIsLeftOut() throws IOException {
    String text =
        """
        {"key":"a","value":"1"}
        %s{"key":"b","value":"2"}
        {"key":"c","value":"3"}
        """;
    CommandRun run = run(file("zeros.jsonl", text.formatted("\0".repeat(8))));
    assertEquals(1, run.code());
    assertTrue(run.errors().startsWith("kvsep: line 2: no JSON: "), run.errors());
    assertEquals(Map.of("a", "1", "c", "3"), content());
  }

  @Test
  void whatScanWritesComesBack() throws IOException {
    Random random = new Random(3);
    Path other = folder.resolve("other");
    try (KvStore open = KvStore.open(other)) {
      for (int i = 0; i < 500; i++) {
        byte[] key = new byte[1 + random.nextInt(10)];
        byte[] value = new byte[random.nextInt(3000)];
        random.nextBytes(key);
        random.nextBytes(value);
        if (i % 5 == 0) {
          open.put(key, value, Duration.ofDays(1));
        } else {
          open.put(key, value);
        }
      }
    }
    byte[] lines = CommandRun.of("scan", "--json", "--dir", other.toString()).succeeds().output();
    Map<String, Object> report =
        withInput(lines, "-", "--format", "jsonl", "--keyspace", "new", "--json").succeeds().json();
    assertEquals(0, CommandRun.number(report, "skipped"));
    assertEquals(lines.length, CommandRun.number(report, "bytes"));
    byte[] again =
        CommandRun.of("scan", "--json", "--dir", store.toString(), "--keyspace", "new")
            .succeeds()
            .output();
    assertArrayEquals(lines, again);
  }

  @Test
  void whatDumpWritesComesBackInEveryKeyspace() throws IOException {
    Path other = folder.resolve("other");
    try (KvStore open = KvStore.open(other)) {
      open.put(new byte[] {(byte) 0xff}, "own".getBytes(UTF_8));
      open.in(open.keyspace("a")).put("k".getBytes(UTF_8), "1".getBytes(UTF_8));
      open.in(open.keyspace("b"))
          .put("k".getBytes(UTF_8), new byte[] {(byte) 0x80}, Duration.ofDays(1));
    }
    Path dump = folder.resolve("dump.jsonl");
    String from = other.toString();
    String report = CommandRun.of("dump", dump.toString(), "--dir", from).succeeds().text();
    assertTrue(report.matches("wrote 3 entries, \\d+ B, in .*\\R"), report);
    assertTrue(CommandRun.of("dump", dump.toString(), "--dir", from).failsWith(1).contains("dump"));
    assertTrue(run(dump).succeeds().text().startsWith("imported 3 entries, "));
    assertEquals(Map.of("\u00ff", "own"), content());
    assertEquals(Map.of("k", "1"), content("a"));
    assertEquals(Map.of("k", "\u0080"), content("b"));
    CommandRun again = CommandRun.of("dump", "-", "--dir", store.toString());
    assertArrayEquals(Files.readAllBytes(dump), again.output());
    assertTrue(again.errors().startsWith("wrote 3 entries, "), again.errors());
    CommandRun one = CommandRun.of("dump", "-", "--keyspace", "a", "--dir", from);
    assertEquals(
        List.of("{\"keyspace\":\"a\",\"key\":\"k\",\"valueLength\":1,\"value\":\"MQ==\"}"),
        one.lines());
  }

  @Test
  void linesMayNameAKeyspaceOrNone() throws IOException {
    String text =
        """
        {"keyspace":"a","key":"k","value":"1"}
        {"key":"k","value":"2"}
        {"keyspace":"","key":"k","value":"3"}
        {"keyspace":"a","key":"l","value":"4"}
        """;
    CommandRun run = run(file("some.jsonl", text), "--keyspace", "b");
    assertEquals(1, run.code());
    assertTrue(
        run.errors().startsWith("kvsep: line 3: the name of a keyspace takes"), run.errors());
    assertEquals(Map.of("k", "1", "l", "4"), content("a"));
    assertEquals(Map.of("k", "2"), content("b"));
    assertEquals(Map.of(), content());
  }

  @Test
  void binaryFilesAreWholeOrNothing() throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    DataOutputStream output = new DataOutputStream(bytes);
    Map<String, String> expected = new TreeMap<>();
    Random random = new Random(9);
    for (int i = 0; i < 300; i++) {
      byte[] key = new byte[1 + random.nextInt(300)];
      byte[] value = new byte[random.nextInt(2000)];
      random.nextBytes(key);
      random.nextBytes(value);
      output.writeInt(key.length);
      output.writeInt(value.length);
      output.write(key);
      output.write(value);
      expected.put(new String(key, ISO_8859_1), new String(value, ISO_8859_1));
    }
    byte[] whole = bytes.toByteArray();
    for (int length : new int[] {whole.length - 1, 5, whole.length / 2}) {
      Path cut = Files.write(folder.resolve("cut.bin"), Arrays.copyOf(whole, length));
      assertTrue(run(cut).failsWith(1).startsWith("entry "));
      assertEquals(Map.of(), content());
    }
    run(Files.write(folder.resolve("whole.bin"), whole)).succeeds();
    assertEquals(expected, content());
  }

  @Test
  void aFileThatCannotBeReadOnLoadsNothing() throws IOException {
    Path noText = Files.write(folder.resolve("no.csv"), "a,1\nb,\u00e4\n".getBytes(ISO_8859_1));
    String refusal = run(noText).failsWith(1);
    assertTrue(refusal.startsWith("no UTF-8: "), refusal);
    Path open = file("open.csv", "a,1\nb,\"2\n");
    refusal = run(open).failsWith(1);
    assertTrue(refusal.contains("Unclosed quoted field"), refusal);
    assertTrue(refusal.contains("line 2"), refusal);
    assertEquals(Map.of(), content());
    String header = run(file("header.csv", "\"name,what\na,1\n"), "--header").failsWith(1);
    assertTrue(header.contains("Unclosed quoted field"), header);
    assertEquals(Map.of(), content());
    run(folder.resolve("missing.csv")).failsWith(1);
    run(folder.resolve("what")).failsWith(2);
    assertEquals(folder + ": is a directory", run(folder, "--format", "csv").failsWith(1));
  }
}
