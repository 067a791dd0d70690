package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.KvView;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** count, size and keyspaces. */
final class RangeCommandsTest {
  @TempDir Path store;

  @BeforeEach
  void fill() {
    try (KvStore open = KvStore.open(store)) {
      for (int i = 0; i < 100; i++) {
        open.put(("a/" + (100 + i)).getBytes(UTF_8), new byte[10]);
      }
      open.put("b".getBytes(UTF_8), new byte[1000]);
      open.put(new byte[] {(byte) 0xff}, new byte[1]);
      open.delete("a/100".getBytes(UTF_8));
      KvView users = open.in(open.keyspace("users"));
      users.put("ada".getBytes(UTF_8), new byte[3]);
    }
  }

  private CommandRun run(String... arguments) {
    List<String> all = new ArrayList<>(List.of(arguments));
    all.addAll(List.of("--dir", store.toString()));
    return CommandRun.of(all.toArray(String[]::new));
  }

  private String line(String... arguments) {
    return run(arguments).succeeds().text().strip();
  }

  @Test
  void countIsExact() {
    assertEquals("101", line("count"));
    assertEquals("99", line("count", "--prefix", "a/"));
    assertEquals("10", line("count", "--prefix", "a/11"));
    assertEquals("0", line("count", "--prefix", "c"));
    assertEquals("2", line("count", "--from", "a/2"));
    assertEquals("9", line("count", "--to", "a/110"));
    assertEquals("1", line("count", "--prefix", "ff", "--key-hex"));
    assertEquals("1", line("count", "--keyspace", "users"));
    assertEquals(
        Map.of("entries", 99L, "approximate", false),
        run("count", "--prefix", "a/", "--json").succeeds().json());
  }

  @Test
  void sizeAddsUpKeysAndValues() {
    assertEquals(Integer.toString(99 * (5 + 10) + 1 + 1000 + 1 + 1), line("size"));
    assertEquals("1001", line("size", "--prefix", "b"));
    assertEquals("6", line("size", "--keyspace", "users"));
    assertEquals(
        Map.of("bytes", 1001L, "approximate", false, "keyBytes", 1L, "valueBytes", 1000L),
        run("size", "--prefix", "b", "--json").succeeds().json());
  }

  @Test
  void estimatesAreNear() {
    run("compact").succeeds();
    assertEquals("99", line("count", "--prefix", "a/", "--approximate"));
    Map<String, Object> size = run("size", "--approximate", "--json").succeeds().json();
    assertEquals(true, size.get("approximate"));
    assertTrue(CommandRun.number(size, "bytes") > 1000, size.toString());
    assertTrue(CommandRun.number(size, "bytes") < 10_000, size.toString());
  }

  @Test
  void keyspacesAreListedWithWhatTheyHold() {
    run("compact").succeeds();
    List<String> lines = run("keyspaces").succeeds().lines();
    assertEquals(3, lines.size());
    assertTrue(lines.get(0).matches("keyspace +entries +size"), lines.get(0));
    assertTrue(lines.get(1).matches("\\(default\\) +101 +\\S+ k?B"), lines.get(1));
    assertTrue(lines.get(2).matches("users +1 +\\S+ B"), lines.get(2));
    List<String> json = run("keyspaces", "--json").succeeds().lines();
    assertEquals(2, json.size());
    assertTrue(json.get(0).startsWith("{\"entriesEstimate\":101,\"bytesEstimate\":"), json.get(0));
    assertTrue(json.get(1).startsWith("{\"keyspace\":\"users\",\"entriesEstimate\":1,"));
  }

  @Test
  void wrongRangesAndKeyspacesAreReported() {
    for (String command : List.of("count", "size")) {
      run(command, "--prefix", "a", "--to", "b").failsWith(2);
      run(command, "extra").failsWith(2);
      assertEquals("no such keyspace: none", run(command, "--keyspace", "none").failsWith(1));
    }
    run("keyspaces", "extra").failsWith(2);
  }
}
