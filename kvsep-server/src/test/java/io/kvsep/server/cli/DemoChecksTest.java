package io.kvsep.server.cli;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.KvStore;
import io.kvsep.WriteBatch;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Path;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** The checks of the demonstration have to notice what they are there for. */
final class DemoChecksTest {
  private static final Streams NOWHERE =
      Streams.of(
          InputStream.nullInputStream(),
          OutputStream.nullOutputStream(),
          OutputStream.nullOutputStream());

  @TempDir Path directory;
  private KvStore store;
  private final ProgressBar bar = new ProgressBar(NOWHERE, "", 0);
  private final ExpectedEntries expected = new ExpectedEntries();

  @BeforeEach
  void open() {
    store = KvStore.open(directory);
    for (int i = 0; i < 10; i++) {
      byte[] content = {(byte) i, 1};
      store.put(key("k/" + i), content);
      expected.add(key("k/" + i), content);
    }
    for (int number = 1; number <= 3; number++) {
      store.write(CrashBatches.batch(number));
    }
  }

  @AfterEach
  void close() {
    store.close();
  }

  private static byte[] key(String text) {
    return text.getBytes(UTF_8);
  }

  private static void assertFails(String message, Executable check) {
    assertEquals(message, assertThrows(CommandFailure.class, check).getMessage());
  }

  @Test
  void soundStoresPass() {
    assertEquals(new ExpectedEntries.Tally(10, 20), expected.check(store, bar));
    assertEquals(3, CrashBatches.check(store, 3).batches());
    assertEquals(3, CrashBatches.check(store, 0).batches());
    assertEquals(new ExpectedEntries.Tally(3, 6), expected.overwriteQuarter(store, bar));
    assertEquals(3, expected.deleteQuarter(store).entries());
    assertEquals(new ExpectedEntries.Tally(7, 14), expected.check(store, bar));
    assertEquals("k/", expected.fullestPrefix("k/"));
    assertEquals(7, expected.scan(store, "k/").entries());
  }

  @Test
  void changedContentIsNoticed() {
    store.put(key("k/3"), new byte[] {3, 2});
    assertFails("the entry k/3 has the wrong content (SHA-256)", () -> expected.check(store, bar));
  }

  @Test
  void missingEntriesAreNoticed() {
    store.delete(key("k/3"));
    assertFails("the entry k/3 is missing", () -> expected.check(store, bar));
    assertFails(
        "the cursor found 9 entries below k/ instead of 10", () -> expected.scan(store, "k/"));
  }

  @Test
  void entriesThatCameBackAreNoticed() {
    expected.deleteQuarter(store);
    store.put(key("k/1"), new byte[] {1, 1});
    assertFails("the entry k/1 was deleted and is there", () -> expected.check(store, bar));
  }

  @Test
  void lostBatchesAreNoticed() {
    assertFails(
        "batch 4 was acknowledged, but the last one found is 3",
        () -> CrashBatches.check(store, 4));
  }

  @Test
  void halfBatchesAreNoticed() {
    store.delete(key("crash/0000000002/7"));
    assertFails("batch 2 of 3 is not whole", () -> CrashBatches.check(store, 3));
  }

  @Test
  void aWriterThatEndsByItselfIsNoticed(@TempDir Path own) {
    assertFails(
        "the writer ended by itself, with 1: a seeded failure" + System.lineSeparator(),
        () -> new CrashRounds(FailingWriter.class, own, 1, 200).run());
  }

  @Test
  void partsOfALaterBatchAreNoticed() {
    store.write(new WriteBatch().put(key("crash/0000000004/0"), new byte[0]));
    assertFails("a part of a batch after batch 3 was found", () -> CrashBatches.check(store, 3));
  }
}
