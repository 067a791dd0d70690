package io.kvsep.internal.verify;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.VerifyReport;
import io.kvsep.internal.config.EngineConfig;
import io.kvsep.internal.engine.StorageEngine;
import io.kvsep.internal.io.StoreFiles;
import io.kvsep.internal.sstable.TamperedTable;
import io.kvsep.internal.vlog.TamperedLog;
import io.kvsep.testing.ConfigDraft;
import io.kvsep.testing.CrashableStorage;
import io.kvsep.testing.Engines;
import io.kvsep.testing.ManualScheduler;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Verification finds what does not hold, in every kind of file, and says where. */
final class VerifyTest {
  /** Every n-th byte is damaged. */
  private static final int STEP = 13;

  /** A checksum may be said to be wrong where it stands, behind what it covers. */
  private static final int HEADER_BYTES = 40;

  private static final int KEYS = 120;

  private CrashableStorage storage = new CrashableStorage();
  private StorageEngine engine = open();

  private StorageEngine open() {
    EngineConfig base = Engines.config(storage, new ManualScheduler(1, 2));
    return StorageEngine.open(
        ConfigDraft.of(base)
            .compressionBytesMin(Integer.MAX_VALUE)
            .segmentBytes(8 << 10)
            .shape(Engines.UNPACKED)
            .build());
  }

  /** Two levels, a relocated file, segments, a deleted range, something only the log knows. */
  @BeforeEach
  void fill() {
    Random random = new Random(2);
    for (int i = 0; i < KEYS; i++) {
      put(i, 100 + i % 7, random);
    }
    for (int i = 0; i < KEYS; i += 2) {
      put(i, 90, random);
    }
    engine.reclaim();
    for (int i = 0; i < KEYS; i += 3) {
      put(i, i % 2 == 0 ? 20 : 200, random);
    }
    engine.writes().deleteRange(0, key(7), key(11));
    engine.flush();
    put(5, 300, random);
    engine.sync();
  }

  @AfterEach
  void close() {
    engine.close();
    assertEquals(0, engine.memoryBytes());
    assertEquals(List.of(), storage.openFiles());
  }

  @Test
  void aStoreWithFilesOfEveryKindIsSound() throws IOException {
    assertEquals(List.of(), engine.verify().problems());
    reopen();

    VerifyReport result = engine.verify();

    assertEquals(List.of(), result.problems());
    assertEquals(0, result.problemCount());
    assertEquals(List.of(), result.unknownFiles());
    List<String> files = storage.list();
    files = files.stream().filter(name -> !name.equals(StoreFiles.LOCK)).toList();
    assertEquals(files.size(), result.files());
    long bytes = 0;
    for (String name : files) {
      boolean counted = name.endsWith(".sst") || name.endsWith(".vlog");
      bytes += counted ? storage.contents(name).length : 0;
    }
    assertEquals(bytes, result.bytes());
    assertTrue(result.entries() >= KEYS - 4, () -> result.entries() + " entries");
    assertTrue(result.records() > 40, () -> result.records() + " records");
    assertTrue(!files(StoreFiles.Kind.SEGMENT, true).isEmpty(), "a relocated file");
  }

  @Test
  void aFlippedBitIsFoundWhereverItIs() throws IOException {
    int count = 0;
    for (String name : checkedFiles()) {
      for (int offset = count % STEP; offset < storage.contents(name).length; offset += STEP) {
        int mask = 1 << count++ % 8;
        storage.corrupt(name, offset, value -> value ^ mask);
        requireNamed(name, offset, "bit flipped");
        storage.corrupt(name, offset, value -> value ^ mask);
      }
    }
    assertTrue(count > 1_000, "only " + count + " damages");
    assertEquals(List.of(), engine.verify().problems());
  }

  @Test
  void aFileThatIsCutIsFound() throws IOException {
    for (String name : checkedFiles()) {
      byte[] bytes = storage.contents(name);
      for (int length = 0; length < bytes.length; length += 1 + bytes.length / 40) {
        storage.replace(name, Arrays.copyOf(bytes, length));
        requireNamed(name, length, "cut");
      }
      storage.replace(name, bytes);
    }
  }

  @Test
  void aFileThatIsMissingIsFound() throws IOException {
    for (String name : checkedFiles()) {
      byte[] bytes = storage.contents(name);
      storage.delete(name);
      requireNamed(name, 0, "missing");
      storage.replace(name, bytes);
    }
  }

  @Test
  void filesThatChangedPlacesAreFound() throws IOException {
    List<String> names = checkedFiles();
    for (int i = 1; i < names.size(); i++) {
      String one = names.get(i - 1);
      String other = names.get(i);
      byte[] bytes = storage.contents(one);
      storage.replace(one, storage.contents(other));
      storage.replace(other, bytes);
      requireNamed(one, 0, "swapped with " + other);
      requireNamed(other, 0, "swapped with " + one);
      storage.replace(other, storage.contents(one));
      storage.replace(one, bytes);
    }
  }

  @Test
  void aFileWithoutAnOwnerIsNotedAndHarmsNothing() {
    storage.replace("999999.sst", new byte[9]);
    storage.replace("notes.txt", new byte[9]);

    VerifyReport result = engine.verify();

    assertEquals(List.of(), result.problems());
    assertEquals(List.of("999999.sst", "notes.txt"), result.unknownFiles());
  }

  @Test
  void whatIsBehindDamageIsCheckedAsWell() throws IOException {
    String segment = files(StoreFiles.Kind.SEGMENT, false).get(0);
    int length = storage.contents(segment).length;
    for (int offset : new int[] {60, length / 2, length - 30}) {
      storage.corrupt(segment, offset, value -> value ^ 1);
    }
    String table = files(StoreFiles.Kind.TABLE, false).get(0);
    storage.corrupt(table, 50, value -> value ^ 1);

    List<VerifyReport.Problem> problems = engine.verify().problems();

    assertTrue(problems.stream().filter(e -> e.file().equals(segment)).count() >= 3);
    assertTrue(problems.stream().anyMatch(e -> e.file().equals(table)));
  }

  @Test
  void manyProblemsAreCountedAndTheFirstOnesKept() throws IOException {
    for (String name : files(StoreFiles.Kind.SEGMENT, false)) {
      byte[] bytes = storage.contents(name);
      Arrays.fill(bytes, HEADER_BYTES, bytes.length, (byte) 0x55);
      storage.replace(name, bytes);
    }

    VerifyReport result = engine.verify();

    assertTrue(result.problemCount() > 10, () -> result.problemCount() + " problems");
    assertTrue(result.problems().size() <= 1_000);
  }

  // The canaries: what no checksum can show.

  @Test
  void canaryOtherLiveBytesAreFound() throws IOException {
    tamper("segment", TamperedTable::withOtherLiveBytes);
  }

  @Test
  void canaryPointersToOtherKeysAreFound() throws IOException {
    tamper("pointer of key", TamperedTable::withPointersSwapped);
  }

  @Test
  void canarySwappedEntriesAreFound() throws IOException {
    tamper("ascending order", TamperedTable::withNeighboursSwapped);
  }

  @Test
  void canaryAFilterThatHidesKeysIsFound() throws IOException {
    tamper("filter", TamperedTable::withEmptyFilter);
  }

  @Test
  void canaryAnIndexThatLeadsAstrayIsFound() throws IOException {
    tamper("index", TamperedTable::withOtherSeparator);
  }

  @Test
  void canaryTamperingWithNothingIsSound() throws IOException {
    String table = largestTable();
    byte[] sealed = tampered(table, tampered -> tampered);
    assertTrue(Arrays.equals(storage.contents(table), sealed));
  }

  @Test
  void canarySwappedRelocationsAreFound() throws IOException {
    String file = files(StoreFiles.Kind.SEGMENT, true).get(0);
    storage.replace(file, TamperedLog.withRelocationsSwapped(storage.contents(file)));
    reopen();

    requireProblem("a pointer of another key", e -> e.expected().contains("pointer of key"));
  }

  @Test
  void canaryARepeatedSequenceNumberIsFound() throws IOException {
    String file = files(StoreFiles.Kind.SEGMENT, false).get(0);
    long segment = StoreFiles.numberOf(file);
    storage.replace(file, TamperedLog.withSequenceRepeated(storage.contents(file), segment));

    requireProblem(
        "a repeated sequence number", e -> e.file().equals(file) && e.found().contains("sequence"));
  }

  private void tamper(String clue, UnaryOperator<TamperedTable> change) throws IOException {
    String table = largestTable();
    storage.replace(table, tampered(table, change));

    requireProblem(clue, e -> e.file().equals(table) && (e.expected() + e.found()).contains(clue));
  }

  private byte[] tampered(String table, UnaryOperator<TamperedTable> change) throws IOException {
    TamperedTable bytes =
        new TamperedTable(
            storage.contents(table),
            StoreFiles.numberOf(table),
            storage.contents(StoreFiles.CURRENT));
    return change.apply(bytes).sealed();
  }

  private String largestTable() throws IOException {
    String largest = "";
    int length = 0;
    for (String name : files(StoreFiles.Kind.TABLE, false)) {
      int found = storage.contents(name).length;
      largest = found > length ? name : largest;
      length = Math.max(found, length);
    }
    return largest;
  }

  private void reopen() {
    engine.close();
    storage = storage.crashKeepingAll();
    engine = open();
  }

  private void requireNamed(String file, long offset, String what) {
    requireProblem(
        what + " in " + file + " at " + offset,
        e -> e.file().equals(file) && e.offset() <= offset + HEADER_BYTES);
  }

  private void requireProblem(String what, Predicate<VerifyReport.Problem> wanted) {
    List<VerifyReport.Problem> problems = engine.verify().problems();
    assertTrue(problems.stream().anyMatch(wanted), () -> what + ": " + problems);
  }

  private List<String> checkedFiles() throws IOException {
    List<String> names = new ArrayList<>(storage.list());
    names.remove(StoreFiles.LOCK);
    return names;
  }

  private List<String> files(StoreFiles.Kind kind, boolean relocated) throws IOException {
    List<String> names = new ArrayList<>();
    for (String name : storage.list()) {
      if (StoreFiles.kindOf(name) == kind
          && (new String(storage.contents(name), 0, 8, UTF_8).equals("KVSEPREL") == relocated)) {
        names.add(name);
      }
    }
    return names;
  }

  private void put(int index, int length, Random random) {
    byte[] value = new byte[length];
    random.nextBytes(value);
    engine.writes().put(0, key(index), value, index % 10 == 0 ? 5_000 : 0);
  }

  private static byte[] key(int index) {
    return String.format("key-%04d", index).getBytes(UTF_8);
  }
}
