package io.kvsep.bench;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.KvCursor;
import io.kvsep.KvOptions;
import io.kvsep.KvStore;
import io.kvsep.error.KvException;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The commands that measure one store, each on a small one. */
final class StoreCommandsTest {
  private static final List<String> PERCENTILES = List.of(", p50", ", p99", ", p99.9", ", longest");

  @TempDir Path folder;

  /** What the command prints about the store of the test, by name. */
  private Map<String, String> figures(Consumer<List<String>> command, String words) {
    ByteArrayOutputStream printed = new ByteArrayOutputStream();
    PrintStream output = System.out;
    System.setOut(new PrintStream(printed, true, UTF_8));
    try {
      command.accept(List.of((words + " --dir " + directory()).split(" ")));
    } finally {
      System.setOut(output);
    }
    Map<String, String> figures = new HashMap<>();
    for (String line : printed.toString(UTF_8).lines().toList()) {
      figures.put(
          line.substring(0, Figures.NAME_COLUMNS).trim(),
          line.substring(Figures.NAME_COLUMNS).trim());
    }
    return figures;
  }

  private Path directory() {
    return folder.resolve("store");
  }

  private Map<String, String> write(int entries) {
    return figures(
        WriteCommand::run, "--entries " + entries + " --threads 2 --batch 100 --value-bytes 64");
  }

  private Map<String, Long> lengthsOfFiles() throws IOException {
    Map<String, Long> lengths = new HashMap<>();
    try (var files = Files.list(directory())) {
      for (Path file : files.toList()) {
        lengths.put(file.getFileName().toString(), Files.size(file));
      }
    }
    return lengths;
  }

  private static void requirePercentiles(String name, Map<String, String> figures) {
    for (String percentile : PERCENTILES) {
      assertTrue(figures.containsKey(name + percentile), figures::toString);
    }
  }

  @Test
  void writeWritesEveryEntryOnce() {
    Map<String, String> figures = write(5_050);
    assertEquals("5,050", figures.get("entries written"));
    assertEquals("51", figures.get("commits"));
    requirePercentiles("write of a batch", figures);
    Dataset dataset = new Dataset(5_050, 64);
    try (KvStore store = KvStore.open(directory());
        KvCursor cursor = store.cursor()) {
      byte[] key = dataset.newKey();
      for (long ordinal = 0; ordinal < dataset.entryCount(); ordinal++) {
        assertTrue(cursor.next());
        dataset.putKey(ordinal, key);
        assertEquals(new String(key, UTF_8), new String(cursor.key(), UTF_8));
        assertTrue(dataset.isValue(ordinal, cursor.value()));
      }
      assertFalse(cursor.next());
    }
  }

  @Test
  void writeEndsWhenTheTimeIsUp() {
    Map<String, String> figures =
        figures(WriteCommand::run, "--entries 10_000_000_000 --seconds 0.2 --batch 1");
    long written = Long.parseLong(figures.getOrDefault("entries written", "none").replace(",", ""));
    assertTrue(written > 0 && written < 10_000_000_000L, figures::toString);
    assertEquals(figures.get("commits"), figures.get("entries written"));
  }

  @Test
  void writeGoesIntoAStoreThatIsThere() {
    write(100);
    assertEquals("300", write(300).get("entries written"));
    assertEquals("300", figures(ScanCommand::run, "--passes 1").get("pass 1, entries"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"array", "view"})
  void readTakesKeysFromTheStoreAndChangesNothing(String via) throws IOException {
    try (KvStore store = KvStore.open(directory())) {
      store.put("a".getBytes(UTF_8), new byte[0]);
      store.put("key".getBytes(UTF_8), new byte[1_000]);
      store.put("other".getBytes(UTF_8), new byte[70_000]);
    }
    Map<String, Long> before = lengthsOfFiles();
    Map<String, String> figures =
        figures(
            ReadCommand::run,
            "--seconds 0.2 --threads 2 --sample 2 --full-scan --cold --via " + via);
    assertEquals("3", figures.get("entries"));
    assertEquals("2", figures.get("keys in the sample"));
    assertEquals("3", figures.get("full scan, entries"));
    assertFalse(figures.containsKey("read, expired meanwhile"), figures::toString);
    requirePercentiles("read", figures);
    assertEquals(before, lengthsOfFiles());
  }

  @Test
  void containsReadsNoValuesAndSaysNothingOfTheirBytes() {
    write(1_000);
    for (String via : List.of("contains", "array")) {
      Map<String, String> figures =
          figures(GetCommand::run, "--entries 1_000 --value-bytes 64 --seconds 0.2 --via " + via);
      String rate = figures.getOrDefault("get", "none");
      assertEquals(via.equals("array"), rate.endsWith(" MB/s"), rate);
    }
  }

  @Test
  void thereIsAPeakOfSpaceFromTheStart() {
    write(100);
    try (KvStore store = KvStore.open(directory())) {
      SpaceSampler sampler = new SpaceSampler(directory(), store);
      sampler.close();
      assertTrue(sampler.peakBytes() > 0);
      assertTrue(sampler.peakStats().tableBytes() > 0);
    }
  }

  @Test
  void readOfAnEmptyStoreFails() {
    KvStore.open(directory()).close();
    assertThrows(
        FailedMeasurementException.class, () -> figures(ReadCommand::run, "--seconds 1 --cold"));
  }

  @Test
  void scanWalksEverythingOnEachThread() {
    write(3_000);
    Map<String, String> figures = figures(ScanCommand::run, "--passes 2 --threads 3 --seconds 600");
    assertEquals("9,000", figures.get("pass 1, entries"));
    assertEquals("9,000", figures.get("pass 2, entries"));
    requirePercentiles("pass 2, 1000 entries", figures);
  }

  @Test
  void scanStopsWhereItIsTold() {
    write(1_000);
    for (String more : List.of("", " --keys-only", " --reverse", " --prefetch 8")) {
      assertEquals(
          "250",
          figures(ScanCommand::run, "--passes 1 --entries 250" + more).get("pass 1, entries"));
    }
  }

  @Test
  void scanEndsWhenTheTimeIsUp() {
    write(1_000);
    Map<String, String> figures =
        figures(ScanCommand::run, "--passes 1_000_000 --seconds 1 --keys-only");
    assertTrue(figures.containsKey("pass 1, entries"), figures::toString);
    assertFalse(figures.containsKey("pass 1000000, entries"), figures::toString);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " --read-only", " --cold"})
  void openOpensAndClosesAsOftenAsAsked(String more) {
    write(1_000);
    Map<String, String> figures = figures(OpenCommand::run, "--rounds 4 --seconds 600" + more);
    assertEquals("3", figures.get("opened again"));
    assertEquals("1,000", figures.get("entries, about"));
    requirePercentiles("open", figures);
    requirePercentiles("close", figures);
  }

  @ParameterizedTest
  @ValueSource(strings = {"", " --own"})
  void storesOpensThemTwiceAndLeavesNone(String more) throws IOException {
    Files.createDirectory(directory());
    Map<String, String> figures =
        figures(
            StoresCommand::run,
            "--stores 3 --threads 2 --seconds 0.1 --rest 0.04 --value-bytes 64" + more);
    assertTrue(figures.containsKey("create, longest"), figures::toString);
    assertTrue(figures.containsKey("at rest, CPU"), figures::toString);
    assertTrue(figures.containsKey("write, fewest puts of a store"), figures::toString);
    assertTrue(figures.containsKey("open again, longest"), figures::toString);
    assertEquals(Map.of(), lengthsOfFiles());
  }

  @Test
  void aStoreThatIsNotThereIsNotMade() {
    List<Consumer<List<String>>> commands =
        List.of(ReadCommand::run, ScanCommand::run, OpenCommand::run);
    for (Consumer<List<String>> command : commands) {
      assertThrows(KvException.class, () -> figures(command, "--seconds 1"));
      assertThrows(UsageException.class, () -> command.accept(List.of()));
    }
    assertFalse(Files.exists(directory()));
  }

  @Test
  void misspeltOptionsAreRefused() {
    List<Consumer<List<String>>> commands =
        List.of(WriteCommand::run, ReadCommand::run, ScanCommand::run, OpenCommand::run);
    for (Consumer<List<String>> command : commands) {
      assertThrows(UsageException.class, () -> figures(command, "--second 1"));
    }
    assertFalse(Files.exists(directory()));
  }

  @Test
  void aSampleIsFairAndHasNoKeyTwice() {
    write(10_000);
    Dataset dataset = new Dataset(10_000, 64);
    try (Progress progress = new Progress("sample", 10_000, System.err);
        KvStore store = KvStore.open(directory(), KvOptions.builder().readOnly(true).build())) {
      KeySample sample = KeySample.of(store, 1_000, progress);
      assertEquals(10_000, sample.entryCount());
      List<String> keys = sample.keys().stream().map(key -> new String(key, UTF_8)).toList();
      assertEquals(1_000, keys.stream().distinct().count());
      assertTrue(sample.keys().stream().allMatch(store::contains));
      byte[] middle = dataset.newKey();
      dataset.putKey(5_000, middle);
      long lower =
          keys.stream().filter(key -> key.compareTo(new String(middle, UTF_8)) < 0).count();
      // Always the same: the choice has a fixed seed. The standard deviation is 15.
      assertTrue(lower > 425 && lower < 575, () -> "keys of the lower half: " + lower);
      assertEquals(10_000, KeySample.of(store, 20_000, progress).keys().size());
    }
  }
}
