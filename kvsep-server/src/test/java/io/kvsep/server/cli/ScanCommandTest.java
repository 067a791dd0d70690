package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.server.json.JsonText;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

final class ScanCommandTest {
  private static final byte[] BINARY_KEY = {(byte) 0xff, 0};

  @TempDir Path store;

  @BeforeEach
  void fill() {
    try (KvStore open = KvStore.open(store)) {
      open.put("a/1".getBytes(UTF_8), "one\n\\".getBytes(UTF_8));
      open.put("a/2".getBytes(UTF_8), new byte[] {(byte) 0x80});
      open.put("b".getBytes(UTF_8), "é".repeat(500).getBytes(UTF_8), Duration.ofHours(1));
      open.put("line\nbreak".getBytes(UTF_8), new byte[0]);
      open.put("0x61".getBytes(UTF_8), new byte[0]);
      open.put(BINARY_KEY, "ff".getBytes(UTF_8));
    }
  }

  private CommandRun scan(String... arguments) {
    List<String> all = new ArrayList<>(List.of("scan", "--dir", store.toString()));
    all.addAll(List.of(arguments));
    return CommandRun.of(all.toArray(String[]::new)).succeeds();
  }

  private List<String> keys(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.add("--keys-only");
    return scan(all.toArray(String[]::new)).lines();
  }

  @Test
  void everyEntryIsOneLineInKeyOrder() {
    assertEquals(
        List.of(
            "0x30783631\t",
            "a/1\tone\\n\\\\",
            "a/2\t0x80",
            "b\t" + "é".repeat(40) + "... (1,000 bytes)",
            "0x6c696e650a627265616b\t",
            "0xff00\tff"),
        scan().lines());
  }

  @Test
  void aLongValueIsNotCutInsideACharacter() {
    try (KvStore open = KvStore.open(store)) {
      open.put("cut".getBytes(UTF_8), ("x" + "é".repeat(500)).getBytes(UTF_8));
    }

    assertEquals(
        List.of("cut\tx" + "é".repeat(39) + "... (1,001 bytes)"), scan("--prefix", "cut").lines());
  }

  @Test
  void prefixAndBoundsSelect() {
    assertEquals(List.of("a/1", "a/2"), keys("--prefix", "a/"));
    assertEquals(List.of("a/2", "b"), keys("--from", "a/2", "--to", "c"));
    assertEquals(List.of("0xff00"), keys("--from", "ff", "--key-hex"));
    assertEquals(List.of("0xff00"), keys("--prefix", "0xff", "--key-hex"));
    assertEquals(List.of(), keys("--from", "x", "--to", "a"));
    assertEquals(6, keys("--prefix", "").size());
  }

  @Test
  void reverseAndLimitApplyToTheSelection() {
    assertEquals(List.of("a/2", "a/1"), keys("--prefix", "a/", "--reverse"));
    assertEquals(List.of("0xff00"), keys("--reverse", "--limit", "1"));
    assertEquals(List.of(), keys("--limit", "0"));
  }

  @Test
  void jsonLinesHoldEverything() {
    List<Map<String, Object>> lines =
        scan("--json").lines().stream().map(JsonText::object).toList();

    assertEquals(6, lines.size());
    Map<String, Object> text = lines.get(1);
    assertEquals("a/1", text.get("key"));
    assertFalse(text.containsKey("keyHex"));
    assertEquals(5L, text.get("valueLength"));
    assertArrayEquals("one\n\\".getBytes(UTF_8), value(text));
    assertFalse(text.containsKey("expiresAtMillis"));
    assertTrue(lines.get(3).containsKey("expiresAtMillis"));
    assertArrayEquals("é".repeat(500).getBytes(UTF_8), value(lines.get(3)));
    assertEquals("line\nbreak", lines.get(4).get("key"));
    assertEquals("0xff00", lines.get(5).get("key"));
    assertEquals("ff00", lines.get(5).get("keyHex"));
  }

  @Test
  void jsonHasALongValueInOnePiece() {
    byte[] longValue = new byte[200_000];
    new Random(5).nextBytes(longValue);
    try (KvStore open = KvStore.open(store)) {
      open.put("long".getBytes(UTF_8), longValue);
    }
    assertArrayEquals(longValue, value(scan("--json", "--prefix", "long").json()));
  }

  @Test
  void jsonWithKeysOnlyHasLengthsButNoValues() {
    Map<String, Object> line = scan("--json", "--keys-only", "--prefix", "b").json();

    assertEquals(1000L, line.get("valueLength"));
    assertFalse(line.containsKey("value"));
  }

  @Test
  void aDamagedValueIsToldOfAndTheOthersAreListed(@TempDir Path other) throws IOException {
    try (KvStore open = KvStore.open(other)) {
      Random random = new Random(3);
      for (String key : List.of("a", "b", "c")) {
        byte[] value = new byte[100_000];
        random.nextBytes(value);
        open.put(key.getBytes(UTF_8), value);
      }
    }
    Path log;
    try (Stream<Path> files = Files.list(other)) {
      log = files.max(Comparator.comparingLong(f -> f.toFile().length())).orElseThrow();
    }
    byte[] content = Files.readAllBytes(log);
    content[150_000] ^= 1;
    Files.write(log, content);

    for (String form : List.of("--reverse", "--json")) {
      CommandRun run = CommandRun.of("scan", form, "--dir", other.toString());
      assertEquals(1, run.code());
      assertEquals(2, run.lines().size(), run.text());
      assertFalse(run.text().contains("b\t"), run.text());
      List<String> told = run.errors().lines().toList();
      assertEquals(2, told.size(), run.errors());
      assertTrue(told.get(0).startsWith("kvsep: b: " + log.getFileName() + " at offset "));
      assertTrue(told.get(1).startsWith("kvsep: 1 value was not read: b: "));
    }
    CommandRun keys = CommandRun.of("scan", "--keys-only", "--dir", other.toString()).succeeds();
    assertEquals(List.of("a", "b", "c"), keys.lines());
  }

  @Test
  void impossibleSelectionsAreMisuse() {
    CommandRun.of("scan", "--prefix", "a", "--to", "b").failsWith(2);
    CommandRun.of("scan", "--limit", "-1").failsWith(2);
    CommandRun.of("scan", "--limit", "many").failsWith(2);
    CommandRun.of("scan", "--from", "x", "--key-hex").failsWith(2);
  }

  private static byte[] value(Map<String, Object> line) {
    return Base64.getDecoder().decode((String) line.get("value"));
  }
}
