package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kvsep.error.StoreLockedException;
import io.kvsep.testing.JavaProcess;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** One open store per directory, for every process and by every path; nothing is touched. */
final class LockedStoreTest {
  private static final byte[] KEY = "key".getBytes(UTF_8);
  private static final byte[] VALUE = "value".getBytes(UTF_8);

  @TempDir Path parent;

  @Test
  void aStoreOpensOnceInAProcess() throws IOException {
    Path directory = parent.resolve("store");
    try (KvStore store = KvStore.open(directory)) {
      Map<String, String> before = IncompatibleFilesTest.listing(directory);
      assertThrows(StoreLockedException.class, () -> KvStore.open(directory));
      assertThrows(
          StoreLockedException.class,
          () -> KvStore.open(directory, KvOptions.builder().readOnly(true).build()));
      assertEquals(before, IncompatibleFilesTest.listing(directory));
      store.put(KEY, VALUE);
      assertArrayEquals(VALUE, store.get(KEY));
    }
    try (KvStore store = KvStore.open(directory)) {
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  @Test
  void otherPathsToTheSameDirectoryAreNoWayRound() throws IOException {
    Path directory = parent.resolve("store");
    Path link = parent.resolve("link");
    try (KvStore store = KvStore.open(directory)) {
      Files.createSymbolicLink(link, directory);
      assertThrows(StoreLockedException.class, () -> KvStore.open(link));
      Path roundabout = parent.resolve("store/../store/.");
      assertThrows(StoreLockedException.class, () -> KvStore.open(roundabout));
      store.put(KEY, VALUE);
    }
    try (KvStore store = KvStore.open(link)) {
      assertArrayEquals(VALUE, store.get(KEY));
      assertThrows(StoreLockedException.class, () -> KvStore.open(directory));
    }
  }

  @Test
  void readersShareAStoreWithoutAWriter() {
    Path directory = parent.resolve("store");
    try (KvStore store = KvStore.open(directory)) {
      store.put(KEY, VALUE);
    }
    KvOptions reading = KvOptions.builder().readOnly(true).build();
    try (KvStore one = KvStore.open(directory, reading);
        KvStore two = KvStore.open(directory, reading)) {
      assertArrayEquals(VALUE, one.get(KEY));
      assertArrayEquals(VALUE, two.get(KEY));
      assertThrows(StoreLockedException.class, () -> KvStore.open(directory));
    }
  }

  /** On POSIX the first of these closes takes this process's lock away. */
  @Test
  void readingTheLockFileLetsNoProcessIn() throws Exception {
    Path directory = parent.resolve("store");
    Path copy = parent.resolve("copy");
    try (KvStore store = KvStore.open(directory)) {
      store.put(KEY, VALUE);
      store.sync();
      Files.createDirectory(copy);
      try (Stream<Path> files = Files.list(directory)) {
        for (Path file : files.toList()) {
          Files.copy(file, copy.resolve(file.getFileName()));
        }
      }
      assertEquals("refused", opened(directory, /* readOnly= */ false));
      assertEquals("refused", opened(directory, /* readOnly= */ true));
      // It names this process, too, but no store has it open.
      assertEquals("opened", opened(copy, /* readOnly= */ false));
    }
    assertEquals("opened", opened(directory, /* readOnly= */ false));
    try (KvStore store = KvStore.open(directory)) {
      assertArrayEquals(VALUE, store.get(KEY));
    }
  }

  private static String opened(Path directory, boolean readOnly) throws Exception {
    return JavaProcess.answer(Opener.class, directory.toString(), Boolean.toString(readOnly));
  }

  /** Says whether it could open the store. */
  static final class Opener {
    public static void main(String[] arguments) {
      boolean readOnly = Boolean.parseBoolean(arguments[1]);
      try (KvStore store =
          KvStore.open(Path.of(arguments[0]), KvOptions.builder().readOnly(readOnly).build())) {
        System.out.println(Arrays.equals(VALUE, store.get(KEY)) ? "opened" : "another value");
      } catch (StoreLockedException e) {
        System.out.println("refused");
      }
    }
  }

  @Test
  void anotherProcessKeepsThisOneOut() throws Exception {
    Path directory = parent.resolve("store");
    Process other = openInAnotherProcess(directory);
    try {
      assertEquals("open", JavaProcess.firstLine(other));
      assertThrows(StoreLockedException.class, () -> KvStore.open(directory));
    } finally {
      // Killed while it has the store open: the lock goes with it, what it wrote stays.
      other.destroyForcibly();
      other.waitFor(60, TimeUnit.SECONDS);
    }
    try (KvStore store = KvStore.open(directory)) {
      assertArrayEquals(VALUE, store.get(KEY));
      Process late = openInAnotherProcess(directory);
      assertEquals("locked", JavaProcess.firstLine(late));
      late.waitFor(60, TimeUnit.SECONDS);
    }
  }

  /** The other process: opens the store, writes, says so, and waits to be killed. */
  static final class OtherProcess {
    private OtherProcess() {}

    public static void main(String[] arguments) throws IOException {
      try (KvStore store =
          KvStore.open(
              Path.of(arguments[0]), KvOptions.builder().durability(Durability.none()).build())) {
        store.put(KEY, VALUE);
        System.out.println("open");
        while (System.in.read() >= 0) {
          // Only the end of the input counts.
        }
      } catch (StoreLockedException e) {
        System.out.println("locked");
      }
    }
  }

  private static Process openInAnotherProcess(Path directory)
      throws IOException, URISyntaxException {
    return JavaProcess.start(OtherProcess.class, directory.toString());
  }
}
