package io.kvsep;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.ReadOnlyStoreException;
import io.kvsep.error.StorageException;
import io.kvsep.error.StoreClosedException;
import io.kvsep.error.StoreLockedException;
import io.kvsep.testing.DirectoryState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Checkpoints and stores that are open for reading only, by the public calls, on a real disk. */
final class CheckpointStoreTest {
  private static final KvOptions READING = KvOptions.builder().readOnly(true).build();

  @TempDir Path folder;

  private Path store() {
    return folder.resolve("store");
  }

  private static byte[] key(int n) {
    return ("key" + n).getBytes(UTF_8);
  }

  private static int length(KvStore store, int n) {
    byte[] value = store.get(key(n));
    return value == null ? -1 : value.length;
  }

  private static void put(KvStore store, int from, int to, int length) {
    for (int i = from; i < to; i++) {
      store.put(key(i), new byte[length]);
    }
  }

  private static KvOptions shortSegments() {
    return KvOptions.builder().segmentBytes(1 << 20).build();
  }

  /** Leaves tables, several segments, a relocated file, a keyspace, and something in the log. */
  private KvStore filled() {
    KvStore store = KvStore.open(store(), shortSegments());
    put(store, 0, 1_000, 3_000);
    store.flush();
    put(store, 0, 500, 3_001);
    store.reclaim();
    store.in(store.keyspace("space")).put(key(1), new byte[] {7});
    put(store, 0, 20, 2_000);
    return store;
  }

  @Test
  void aCheckpointIsAStoreOfItsOwn() throws IOException {
    Path copy = folder.resolve("missing").resolve("copy");
    try (KvStore store = filled()) {
      store.checkpoint(copy);
      store.put(key(0), new byte[] {1});
      try (KvStore opened = KvStore.open(copy)) {
        assertTrue(opened.verify().isSound());
        assertEquals(List.of(), opened.verify().unknownFiles());
        assertEquals(2_000, length(opened, 0));
        assertEquals(3_001, length(opened, 499));
        assertEquals(3_000, length(opened, 999));
        assertEquals(List.of("space"), opened.keyspaces());
        assertArrayEquals(new byte[] {7}, opened.in(opened.keyspace("space")).get(key(1)));
        opened.put(key(0), new byte[] {2});
      }
      assertArrayEquals(new byte[] {1}, store.get(key(0)));
      assertTrue(store.verify().isSound());
    }
    try (Stream<Path> left = Files.list(copy.getParent())) {
      assertEquals(List.of(copy), left.toList());
    }
  }

  @Test
  void aNameThatIsTakenIsRefusedAndLeftAlone() throws IOException {
    Path empty = Files.createDirectory(folder.resolve("empty"));
    Path file = Files.writeString(folder.resolve("file"), "text");
    try (KvStore store = filled()) {
      Path copy = folder.resolve("copy");
      store.checkpoint(copy);
      DirectoryState before = DirectoryState.of(copy);
      for (Path taken : List.of(empty, file, copy, store(), folder)) {
        StorageException refused =
            assertThrows(StorageException.class, () -> store.checkpoint(taken));
        assertTrue(refused.toString().contains("is there already"), refused::toString);
      }

      assertEquals(before, DirectoryState.of(copy));
      assertEquals("text", Files.readString(file));
      try (Stream<Path> inside = Files.list(empty)) {
        assertEquals(0, inside.count());
      }
      try (Stream<Path> all = Files.list(folder)) {
        assertEquals(4, all.count());
      }
    }
  }

  @Test
  void aRefusedCheckpointLeavesNoDirectory() throws IOException {
    Path missing = folder.resolve("missing");
    try (KvStore store = filled()) {
      List<Path> refused =
          List.of(
              missing.resolve("."),
              missing.resolve(".."),
              missing.resolve("x").resolve("."),
              // Too long with what is put behind it while it is not whole.
              missing.resolve("x").resolve("n".repeat(250)),
              missing.resolve(".").resolve("n".repeat(250)));
      for (Path target : refused) {
        assertThrows(StorageException.class, () -> store.checkpoint(target));
        assertFalse(Files.exists(missing), target::toString);
      }
    }
    try (Stream<Path> all = Files.list(folder)) {
      assertEquals(List.of(store()), all.toList());
    }
  }

  @Test
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "files have no number there")
  void tablesAndSegmentsAreSharedAndNothingElse() throws IOException {
    Path copy = folder.resolve("copy");
    try (KvStore store = filled()) {
      store.checkpoint(copy);
    }
    try (Stream<Path> files = Files.list(copy)) {
      for (Path file : files.toList()) {
        String name = String.valueOf(file.getFileName());
        boolean shared = (int) Files.getAttribute(file, "unix:nlink") > 1;
        assertEquals(name.endsWith(".sst") || name.endsWith(".vlog"), shared, name);
      }
    }
  }

  /** Whatever becomes of the store, its recoveries too, no file of the copy is ever changed. */
  @Test
  void theStoresLaterLifeDoesNotTouchTheCopy() throws IOException {
    Path copy = folder.resolve("copy");
    DirectoryState before;
    try (KvStore store = filled()) {
      store.checkpoint(copy);
      before = DirectoryState.of(copy);
      put(store, 0, 2_000, 1_500);
      store.compact();
      store.reclaim();
    }
    try (KvStore store = KvStore.open(store(), shortSegments())) {
      store.deleteRange(key(0), key(999_999));
      store.put(key(0), new byte[10]);
      store.reclaim();
    }

    assertEquals(before, DirectoryState.of(copy));
    try (KvStore opened = KvStore.open(copy, READING)) {
      assertTrue(opened.verify().isSound());
      assertEquals(3_001, length(opened, 499));
      assertNull(opened.get(key(1_000)));
    }
    assertEquals(before, DirectoryState.of(copy));
  }

  @Test
  void theCopysLaterLifeDoesNotTouchTheStore() throws IOException {
    Path copy = folder.resolve("copy");
    DirectoryState before;
    try (KvStore store = filled()) {
      store.checkpoint(copy);
    }
    before = DirectoryState.of(store());
    for (int i = 0; i < 2; i++) {
      try (KvStore opened = KvStore.open(copy, shortSegments())) {
        put(opened, 0, 2_000, 1_500);
        opened.compact();
        opened.reclaim();
        opened.deleteRange(key(0), key(999_999));
      }
    }

    assertEquals(before, DirectoryState.of(store()));
  }

  @Test
  void anOpenedCopyReplaysNothing() {
    Path copy = folder.resolve("copy");
    try (KvStore store = filled()) {
      store.checkpoint(copy);
    }
    try (KvStore opened = KvStore.open(copy)) {
      assertEquals(0, opened.stats().replayedBytes());
      assertEquals(2_000, length(opened, 19));
    }
  }

  @Test
  void aCopyOfACopyIsAStoreAsWell() {
    Path first = folder.resolve("first");
    Path second = folder.resolve("second");
    try (KvStore store = filled()) {
      store.checkpoint(first);
    }
    try (KvStore opened = KvStore.open(first)) {
      opened.put(key(0), new byte[] {4});
      opened.checkpoint(second);
    }
    try (KvStore opened = KvStore.open(second)) {
      assertTrue(opened.verify().isSound());
      assertArrayEquals(new byte[] {4}, opened.get(key(0)));
      assertEquals(3_000, length(opened, 999));
    }
  }

  @Test
  void aCopyOfAnEmptyStoreIsAnEmptyStore() {
    Path copy = folder.resolve("copy");
    try (KvStore store = KvStore.open(store())) {
      store.checkpoint(copy);
      store.put(key(1), new byte[1]);
    }
    try (KvStore opened = KvStore.open(copy, READING)) {
      assertNull(opened.get(key(1)));
    }
  }

  @Test
  void whoReadsACopyKeepsWritersAway() {
    Path copy = folder.resolve("copy");
    try (KvStore store = filled()) {
      store.checkpoint(copy);
      try (KvStore first = KvStore.open(copy, READING);
          KvStore second = KvStore.open(copy, READING)) {
        assertEquals(2_000, length(first, 0));
        assertEquals(2_000, length(second, 0));
        assertThrows(StoreLockedException.class, () -> KvStore.open(copy));
      }
    }
  }

  @Test
  void aClosedStoreMakesNoCheckpoint() {
    KvStore store = filled();
    store.close();

    assertThrows(StoreClosedException.class, () -> store.checkpoint(folder.resolve("copy")));
    assertFalse(Files.exists(folder.resolve("copy")));
  }

  /** What is read only comes out of a directory that is the same afterwards, bytes and times. */
  @Test
  void readingOnlyChangesNothing() throws IOException {
    filled().close();
    requireUntouched(store());
    Path copy = folder.resolve("copy");
    try (KvStore store = filled()) {
      store.checkpoint(copy);
    }
    requireUntouched(copy);
  }

  @Test
  void readingOnlyAfterAKillChangesNothing() throws IOException {
    Path killed = Files.createDirectory(folder.resolve("killed"));
    try (KvStore store = filled()) {
      store.sync();
      try (Stream<Path> files = Files.list(store())) {
        for (Path file : files.toList()) {
          Files.copy(file, killed.resolve(file.getFileName()));
        }
      }
    }
    // And with the beginning of a frame that the kill cut off.
    try (Stream<Path> files = Files.list(killed)) {
      Path last =
          files
              .filter(file -> file.toString().endsWith(".vlog"))
              .sorted()
              .reduce((a, b) -> b)
              .get();
      byte[] bytes = Files.readAllBytes(last);
      Files.write(last, Arrays.copyOf(bytes, bytes.length + 7));
    }
    requireUntouched(killed);
  }

  private static void requireUntouched(Path directory) throws IOException {
    DirectoryState before = DirectoryState.of(directory);
    try (KvStore store = KvStore.open(directory, READING)) {
      assertEquals(2_000, length(store, 0));
      assertEquals(before, DirectoryState.of(directory));
      assertTrue(store.verify().isSound());
      try (Snapshot snapshot = store.snapshot();
          KvCursor cursor = snapshot.cursor()) {
        int entries = 0;
        while (cursor.next()) {
          entries += cursor.value().length > 0 ? 1 : 0;
        }
        assertEquals(1_000, entries);
      }
      assertThrows(ReadOnlyStoreException.class, () -> store.put(key(0), new byte[1]));
      assertThrows(ReadOnlyStoreException.class, store::flush);
      assertThrows(ReadOnlyStoreException.class, store::compact);
      assertThrows(ReadOnlyStoreException.class, store::reclaim);
      assertThrows(ReadOnlyStoreException.class, store::sync);
      assertThrows(ReadOnlyStoreException.class, () -> store.keyspace("new"));
      Transaction transaction = store.begin();
      transaction.put(key(0), new byte[1]);
      assertThrows(ReadOnlyStoreException.class, transaction::commit);
      assertThrows(ReadOnlyStoreException.class, () -> store.checkpoint(directory.resolve("copy")));
      store.stats();
      store.segments();
    }
    assertEquals(before, DirectoryState.of(directory));
  }
}
