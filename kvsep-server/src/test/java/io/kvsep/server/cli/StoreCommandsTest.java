package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvStore;
import io.kvsep.ReclaimReport;
import io.kvsep.StoreStats;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * info, compact, reclaim, verify and repair, and what every command does about a directory that is
 * no usable store.
 */
final class StoreCommandsTest {
  /** Each works on an existing store; %s is where export writes to. */
  private static final List<List<String>> ON_EXISTING =
      List.of(
          List.of("get", "key"),
          List.of("delete", "key"),
          List.of("cas", "key", "new", "--expected", "old"),
          List.of("scan"),
          List.of("count"),
          List.of("size"),
          List.of("keyspaces"),
          List.of("changes"),
          List.of("export", "%s"),
          List.of("dump", "%s"),
          List.of("info"),
          List.of("compact"),
          List.of("reclaim"),
          List.of("checkpoint", "%s"),
          List.of("backup", "%s"),
          List.of("verify"));

  @TempDir Path folder;

  private static CommandRun run(Path store, String... arguments) {
    String[] all =
        Stream.concat(Stream.of(arguments), Stream.of("--dir", store.toString()))
            .toArray(String[]::new);
    return CommandRun.of(all);
  }

  private CommandRun run(Path store, List<String> arguments) {
    String target = folder.resolve("export-target").toString();
    return run(
        store, arguments.stream().map(a -> a.equals("%s") ? target : a).toArray(String[]::new));
  }

  private Path filledStore() {
    Path store = folder.resolve("store");
    try (KvStore open = KvStore.open(store)) {
      for (int i = 0; i < 1000; i++) {
        open.put(("key" + i).getBytes(UTF_8), new byte[1000]);
      }
    }
    return store;
  }

  private Path halfDeletedStore() {
    Path store = filledStore();
    try (KvStore open = KvStore.open(store)) {
      for (int i = 0; i < 1000; i += 2) {
        open.delete(("key" + i).getBytes(UTF_8));
      }
    }
    return store;
  }

  private static long logFileBytes(Path store) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      return files
          .filter(file -> file.toString().endsWith(".vlog"))
          .mapToLong(file -> file.toFile().length())
          .sum();
    }
  }

  @Test
  void infoTellsWhatIsThere() {
    Path store = filledStore();

    Map<String, Object> info = run(store, "info", "--json").succeeds().json();

    assertEquals(1000L, info.get("entriesEstimate"));
    assertTrue(CommandRun.number(info, "keyBytes") >= 5890);
    assertTrue(CommandRun.number(info, "logBytes") > 0);
    assertTrue(CommandRun.number(info, "tableBytes") > 0);
    assertEquals(store.toString(), info.get("directory"));
    assertTrue(info.get("levels") instanceof List<?> levels && !levels.isEmpty());
    List<String> lines = run(store, "info").succeeds().lines();
    assertTrue(lines.contains("entries              about 1,000"), lines.toString());
    assertTrue(
        lines.stream().anyMatch(line -> line.matches("value log +.* in 1 segment, live .*")),
        lines.toString());
  }

  @Test
  void infoAsJsonHasEveryFigure() {
    Map<String, Object> info = run(filledStore(), "info", "--json").succeeds().json();
    Set<String> names = new TreeSet<>(info.keySet());
    names.removeAll(List.of("directory", "segments"));

    Set<String> figures = new TreeSet<>();
    Arrays.stream(StoreStats.class.getRecordComponents()).forEach(c -> figures.add(c.getName()));
    assertEquals(figures, names);
    assertEquals(1L, info.get("logSegments"));
    assertTrue(
        info.get("memoryBytes") instanceof Map<?, ?> memory && memory.containsKey("memtable"));
    assertTrue(
        info.get("reclaim") instanceof Map<?, ?> reclaim
            && List.of().equals(reclaim.get("damagedFiles")));
    assertTrue(info.get("pinned") instanceof Map<?, ?> pinned && pinned.containsKey("logBytes"));
  }

  @Test
  void infoTellsWhatIsLiveInEachFile() {
    Path store = halfDeletedStore();
    Map<String, Object> info = run(store, "info", "--json").succeeds().json();

    long bytes = 0;
    long live = 0;
    List<?> segments = (List<?>) Objects.requireNonNull(info.get("segments"));
    for (Object segment : segments) {
      Map<?, ?> file = (Map<?, ?>) segment;
      assertTrue(Files.exists(store.resolve(String.valueOf(file.get("file")))), file.toString());
      assertEquals(false, file.get("relocated"));
      bytes += (Long) Objects.requireNonNull(file.get("bytes"));
      live += (Long) Objects.requireNonNull(file.get("liveBytes"));
    }
    assertEquals(info.get("logSegments"), (long) segments.size());
    assertEquals(info.get("logBytes"), bytes);
    assertEquals(info.get("logLiveBytes"), live);
    List<String> lines = run(store, "info").succeeds().lines();
    assertTrue(
        lines.stream()
            .anyMatch(line -> line.matches("\\d+\\.vlog +\\S+ MB, live \\S+ MB \\(\\d+ %\\)")),
        lines.toString());
    assertTrue(lines.stream().anyMatch(line -> line.startsWith("reclaimable ")), lines.toString());
  }

  @Test
  void infoChangesNoByte() throws IOException {
    Path store = filledStore();
    Map<String, List<Byte>> before = files(store);

    run(store, "info").succeeds();
    run(store, "scan").succeeds();

    assertEquals(before, files(store));
  }

  @Test
  void compactKeepsEveryEntry() {
    Path store = filledStore();
    byte[] before = run(store, "scan").succeeds().output();

    assertTrue(run(store, "compact").succeeds().text().startsWith("tables: "));

    assertArrayEquals(before, run(store, "scan").succeeds().output());
  }

  @Test
  void compactAsJsonHasTheLengthsBeforeAndAfter() {
    Map<String, Object> report = run(halfDeletedStore(), "compact", "--json").succeeds().json();

    assertEquals(
        List.of("tableBytesBefore", "tableBytesAfter", "logBytesBefore", "logBytesAfter"),
        List.copyOf(report.keySet()));
    long before = CommandRun.number(report, "tableBytesBefore");
    long after = CommandRun.number(report, "tableBytesAfter");
    assertTrue(after > 0 && after < before, report.toString());
    assertTrue(CommandRun.number(report, "logBytesBefore") > 1_000_000, report.toString());
    assertTrue(CommandRun.number(report, "logBytesAfter") > 1_000_000, report.toString());
  }

  @ParameterizedTest
  @ValueSource(strings = {"compact", "reclaim", "verify", "checkpoint %s", "repair --to %s"})
  void whatIsUnderWayIsDrawnOnATerminalAndWipedAway(String line) {
    Path store = halfDeletedStore();
    String[] command =
        (line.formatted(folder.resolve("target")) + " --json --dir " + store).split(" ");
    String name = command[0];

    CommandRun run = CommandRun.onTerminal(command);

    assertEquals(0, run.code(), run.errors());
    assertFalse(run.json().isEmpty());
    String times = "(\r" + name + "  \\d+:\\d\\d)+";
    assertTrue(run.errors().matches(times + "\r {" + (name.length() + 6) + "}\r"), run.errors());
  }

  @Test
  void whatIsDrawnIsWipedAwayBeforeAFailureIsTold() {
    String missing = folder.resolve("none").toString();

    CommandRun run = CommandRun.onTerminal("compact", "--dir", missing);

    assertEquals(1, run.code());
    assertTrue(run.errors().startsWith("\rcompact  0:0"), run.errors());
    assertTrue(run.errors().contains(" \rkvsep: no store in " + missing), run.errors());
  }

  @Test
  void reclaimGivesSpaceBackAndKeepsEveryEntry() throws IOException {
    Path store = halfDeletedStore();
    byte[] before = run(store, "scan").succeeds().output();
    long bytes = logFileBytes(store);

    String line = run(store, "reclaim").succeeds().text();

    assertTrue(
        line.matches(
            "freed \\S+ kB: rewrote \\d+ and removed \\d+ of \\d+ files? of the value log;"
                + " read \\S+ kB, wrote \\S+ kB in \\S+ s\\R"),
        line);
    assertTrue(logFileBytes(store) < 0.6 * bytes, () -> bytes + " bytes before");
    assertArrayEquals(before, run(store, "scan").succeeds().output());
    assertTrue(
        run(store, "info").succeeds().lines().stream().anyMatch(l -> l.endsWith(", relocated")));
  }

  @Test
  void reclaimAsJsonHasTheWholeReport() {
    Map<String, Object> report = run(halfDeletedStore(), "reclaim", "--json").succeeds().json();

    Set<String> figures = new TreeSet<>();
    Arrays.stream(ReclaimReport.class.getRecordComponents()).forEach(c -> figures.add(c.getName()));
    assertEquals(figures, report.keySet());
    assertTrue(CommandRun.number(report, "filesRewritten") > 0, report.toString());
    assertTrue(CommandRun.number(report, "bytesFreed") > 300_000, report.toString());
    assertTrue(CommandRun.number(report, "bytesWritten") > 300_000, report.toString());
    assertEquals(List.of(), report.get("damagedFiles"));
  }

  @Test
  void reclaimNamesDamagedFilesAndFails() throws IOException {
    Path store = halfDeletedStore();
    Path log = longestFile(store);
    byte[] content = Files.readAllBytes(log);
    // Something in each record.
    for (int i = 500; i < content.length; i += 500) {
      content[i] ^= 1;
    }
    Files.write(log, content);

    CommandRun run = run(store, "reclaim", "--json");

    assertEquals(
        "damaged, and kept as they are: " + log.getFileName(), run.failsWith(1), run.text());
    assertEquals(List.of(String.valueOf(log.getFileName())), run.json().get("damagedFiles"));
    assertArrayEquals(content, Files.readAllBytes(log));
  }

  @Test
  void aMissingStoreIsReportedAndNotMade() {
    Path store = folder.resolve("none");
    for (List<String> command : ON_EXISTING) {
      assertEquals(
          "no store in " + store + ": there is no such directory (--dir names another)",
          run(store, command).failsWith(1));
      assertFalse(Files.exists(store));
    }
  }

  @Test
  void anEmptyDirectoryIsNoStoreAndStaysEmpty() throws IOException {
    Path store = Files.createDirectory(folder.resolve("empty"));
    for (List<String> command : ON_EXISTING) {
      String refusal = run(store, command).failsWith(1);
      assertTrue(refusal.contains("no store in "), refusal);
      assertEquals(Map.of(), files(store));
    }
  }

  @Test
  void aDirectoryOfOtherFilesIsLeftAlone() throws IOException {
    Path store = Files.createDirectory(folder.resolve("photos"));
    Files.writeString(store.resolve("cat.jpg"), "meow");
    Map<String, List<Byte>> before = files(store);
    Files.createDirectory(folder.resolve("source"));

    for (List<String> command : ON_EXISTING) {
      run(store, command).failsWith(1);
    }
    String refusal = run(store, "put", "key", "value").failsWith(1);
    assertTrue(refusal.contains("is not a store and not empty"), refusal);
    run(store, "ingest", folder.resolve("source").toString()).failsWith(1);
    refusal = run(store, "demo", folder.resolve("source").toString()).failsWith(1);
    assertTrue(refusal.contains("is not empty"), refusal);

    assertEquals(before, files(store));
  }

  @Test
  void aFileIsNoStore() throws IOException {
    Path store = Files.writeString(folder.resolve("file"), "content");
    for (List<String> command : ON_EXISTING) {
      run(store, command).failsWith(1);
    }
    run(store, "put", "key", "value").failsWith(1);
    assertEquals("content", Files.readString(store));
  }

  @Test
  void aStoreThatIsOpenElsewhereIsReported() {
    Path store = folder.resolve("store");
    try (KvStore open = KvStore.open(store)) {
      open.put("key".getBytes(UTF_8), "value".getBytes(UTF_8));
      for (List<String> command : ON_EXISTING) {
        String refusal = run(store, command).failsWith(1);
        assertTrue(refusal.contains("open"), refusal);
      }
      run(store, "put", "key", "other").failsWith(1);
      assertArrayEquals("value".getBytes(UTF_8), open.get("key".getBytes(UTF_8)));
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"get key0", "export"})
  void damageIsReportedWithFileAndOffset(String line) throws IOException {
    Path store = folder.resolve("store");
    try (KvStore open = KvStore.open(store)) {
      // Random, so that every byte of the log after its header is one of some value.
      byte[] value = new byte[100_000];
      new Random(3).nextBytes(value);
      open.put("key0".getBytes(UTF_8), value);
    }
    Path log = longestFile(store);
    byte[] content = Files.readAllBytes(log);
    content[content.length / 2] ^= 1;
    Files.write(log, content);

    String target = folder.resolve("out").toString();
    String[] command = (line.equals("export") ? "export " + target : line).split(" ");
    String refusal = run(store, command).failsWith(1);

    assertTrue(refusal.contains(log.getFileName() + " at offset "), refusal);
    if (line.startsWith("get")) {
      assertTrue(
          refusal.endsWith("; kvsep verify lists all damage, kvsep repair --to NEW saves the rest"),
          refusal);
    }
    assertFalse(Files.exists(Path.of(target).resolve("key0")));
  }

  private static Path longestFile(Path store) throws IOException {
    try (Stream<Path> files = Files.list(store)) {
      return files.max(Comparator.comparingLong(f -> f.toFile().length())).orElseThrow();
    }
  }

  private static Map<String, List<Byte>> files(Path store) throws IOException {
    Map<String, List<Byte>> content = new TreeMap<>();
    try (Stream<Path> files = Files.list(store)) {
      for (Path file : files.toList()) {
        List<Byte> bytes = new ArrayList<>();
        for (byte b : Files.readAllBytes(file)) {
          bytes.add(b);
        }
        content.put(String.valueOf(file.getFileName()), bytes);
      }
    }
    return content;
  }

  @Test
  void checkpointMakesAStoreOfItsOwn() throws IOException {
    Path store = filledStore();
    Path made = folder.resolve("missing").resolve("made");

    Map<String, Object> report =
        run(store, "checkpoint", made.toString(), "--json").succeeds().json();

    assertEquals(made.toString(), report.get("directory"));
    assertTrue(CommandRun.number(report, "files") >= 4, report.toString());
    assertTrue(CommandRun.number(report, "bytes") >= 1_000_000, report.toString());
    run(made, "verify").succeeds();
    assertArrayEquals(
        run(store, "scan").succeeds().output(), run(made, "scan").succeeds().output());
    Map<String, List<Byte>> before = files(made);
    String refusal = run(store, "checkpoint", made.toString()).failsWith(1);
    assertTrue(refusal.contains(made + " is there already"), refusal);
    assertEquals(before, files(made));
    String line = run(store, "checkpoint", folder.resolve("x").toString()).succeeds().text();
    assertTrue(line.matches("made \\S+: \\d+ files, \\S+ MB in \\S+ s\\R"), line);
  }

  @Test
  void backupsAreRestoredOneAfterTheOther() throws IOException {
    Path store = filledStore();
    Path full = folder.resolve("full");
    Path changes = folder.resolve("changes");
    Path made = folder.resolve("made");

    Map<String, Object> first = run(store, "backup", full.toString(), "--json").succeeds().json();
    run(store, "delete", "key7").succeeds();
    run(store, "put", "key8", "new").succeeds();
    String since = String.valueOf(first.get("sequence"));
    String line = run(store, "backup", changes.toString(), "--since", since).succeeds().text();
    assertTrue(line.matches("wrote \\S+ k?B in \\S+ s, up to 1002 \\(.*--since 1002\\)\\R"), line);
    assertEquals(Files.size(full), CommandRun.number(first, "bytes"));
    assertTrue(Files.size(changes) < 200);

    run(made, "restore", full.toString()).succeeds();
    String again = run(made, "restore", full.toString()).failsWith(1);
    assertTrue(again.contains("never written to"), again);
    Map<String, Object> last = run(made, "restore", changes.toString(), "--json").succeeds().json();

    assertEquals(1002L, last.get("sequence"));
    assertArrayEquals(
        run(store, "scan").succeeds().output(), run(made, "scan").succeeds().output());
    Path both = folder.resolve("both");
    Files.write(both, Files.readAllBytes(full));
    Files.write(both, Files.readAllBytes(changes), StandardOpenOption.APPEND);
    Path other = folder.resolve("other");
    run(other, "restore", both.toString()).succeeds();
    assertArrayEquals(
        run(store, "scan").succeeds().output(), run(other, "scan").succeeds().output());
    String taken = run(store, "backup", full.toString()).failsWith(1);
    assertTrue(taken.contains("exists already"), taken);
    Path never = folder.resolve("never");
    String tooHigh = run(store, "backup", never.toString(), "--since", "5000").failsWith(1);
    assertTrue(tooHigh.contains("5000"), tooHigh);
    assertFalse(Files.exists(never));
  }

  @Test
  void aBackupGoesToStandardOutput() throws IOException {
    Path store = filledStore();
    CommandRun run = run(store, "backup", "-");
    assertEquals(0, run.code());
    assertTrue(run.errors().startsWith("wrote "), run.errors());
    Path backup = Files.write(folder.resolve("backup"), run.output());
    Path made = folder.resolve("made");
    byte[] cut = Arrays.copyOf(run.output(), run.output().length - 1);
    String refusal =
        run(made, "restore", Files.write(folder.resolve("cut"), cut).toString()).failsWith(1);

    assertTrue(refusal.contains("backup at offset"), refusal);
    run(made, "restore", backup.toString()).succeeds();
    assertArrayEquals(
        run(store, "scan").succeeds().output(), run(made, "scan").succeeds().output());
  }

  @Test
  void whatIsNoBackupMakesNoStore() throws IOException {
    Path made = folder.resolve("made");
    for (String content : List.of("", "KVSEP", "a text that is long enough for a header")) {
      Path file = Files.writeString(folder.resolve("file"), content);
      assertEquals(
          file + ": not a backup, which begins with KVSEPBAK",
          run(made, "restore", file.toString()).failsWith(1));
      assertFalse(Files.exists(made));
    }
  }

  @Test
  void verifyTellsThatAStoreIsSound() {
    Path store = halfDeletedStore();

    Map<String, Object> report = run(store, "verify", "--json").succeeds().json();

    assertEquals(true, report.get("sound"));
    assertEquals(0L, report.get("problemCount"));
    assertTrue(CommandRun.number(report, "entries") >= 500);
    assertTrue(CommandRun.number(report, "records") >= 1500);
    String line = run(store, "verify").succeeds().lines().get(0);
    assertTrue(line.startsWith("sound: "), line);
  }

  @Test
  void verifyNamesWhatIsDamaged() throws IOException {
    Path store = filledStore();
    Path segment;
    try (Stream<Path> files = Files.list(store)) {
      segment = files.filter(file -> file.toString().endsWith(".vlog")).findFirst().orElseThrow();
    }
    byte[] bytes = Files.readAllBytes(segment);
    bytes[bytes.length / 2] ^= 1;
    Files.write(segment, bytes);

    CommandRun run = run(store, "verify", "--json");

    run.failsWith(1);
    Map<String, Object> report = run.json();
    assertEquals(false, report.get("sound"));
    assertTrue(CommandRun.number(report, "problemCount") >= 1);
    CommandRun lines = run(store, "verify");
    lines.failsWith(1);
    assertTrue(lines.lines().get(0).startsWith(segment.getFileName() + " at offset "));
  }

  @Test
  void verifyOfAStoreThatDoesNotOpenNamesTheReason() throws IOException {
    Path store = filledStore();
    Files.write(store.resolve("CURRENT"), new byte[3]);

    CommandRun run = run(store, "verify", "--json");

    run.failsWith(1);
    assertEquals(1L, run.json().get("problemCount"));
  }

  @Test
  void repairMakesANewStoreAndLeavesTheOldOne() throws IOException {
    Path store = halfDeletedStore();
    Files.delete(store.resolve("CURRENT"));
    Path made = folder.resolve("made");

    CommandRun run = run(store, "repair", "--to", made.toString(), "--json");

    run.failsWith(1);
    Map<String, Object> report = run.json();
    assertEquals(500L, report.get("keys"));
    assertEquals(1L, report.get("lossCount"), "CURRENT");
    assertEquals(0L, report.get("uncertainCount"));
    assertTrue(Files.notExists(store.resolve("CURRENT")));
    run(made, "verify").succeeds();
    CommandRun again = run(store, "repair", "--to", made.toString());
    assertTrue(again.failsWith(1).contains(made.toString()), again.errors());
  }

  @Test
  void repairIntoTheStoreItselfIsMisuse() throws IOException {
    Path store = filledStore();
    Map<String, List<Byte>> before = files(store);

    for (Path target : List.of(store, store.resolve("inside"), folder)) {
      String refusal = run(store, "repair", "--to", target.toString()).failsWith(2);
      assertTrue(refusal.startsWith("--to: " + target + " is not apart from "), refusal);
    }

    assertEquals(before, files(store));
  }

  @Test
  void whatRepairCannotReplaceIsNamed() throws IOException {
    Path file = Files.writeString(folder.resolve("file"), "text");
    Path filled = filledStore();
    String refusal = run(filled, "repair", "--to", file.toString()).failsWith(1);
    assertTrue(refusal.endsWith(file + ": not a directory"), refusal);
    Path left = Files.createDirectory(folder.resolve("new.repair"));
    refusal = run(filled, "repair", "--to", folder.resolve("new").toString()).failsWith(1);
    assertTrue(
        refusal.endsWith(left + ": an interrupted repair left it, delete it first"), refusal);
    assertEquals("text", Files.readString(file));
  }

  @Test
  void repairOfASoundStoreIsACopy() {
    Path store = halfDeletedStore();

    List<String> lines =
        run(store, "repair", "--to", folder.resolve("made").toString()).succeeds().lines();

    assertEquals(1, lines.size());
    assertTrue(lines.get(0).startsWith("restored 500 keys with 500.0 kB of values"), lines.get(0));
    assertTrue(
        run(folder.resolve("none"), "repair", "--to", folder.resolve("x").toString())
            .failsWith(1)
            .contains("no such directory"));
  }
}
