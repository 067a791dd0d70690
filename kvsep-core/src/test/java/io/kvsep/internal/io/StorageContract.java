package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.kvsep.error.StoreLockedException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.NonWritableChannelException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What every {@link Storage} does. */
public abstract class StorageContract {
  protected Storage storage;

  /** An empty storage. */
  protected abstract Storage emptyStorage() throws IOException;

  @BeforeEach
  final void openStorage() throws IOException {
    storage = emptyStorage();
  }

  @AfterEach
  final void closeStorage() throws IOException {
    // A test that failed half-way must not interrupt the next one.
    Thread.interrupted();
    storage.close();
  }

  protected static ByteBuffer direct(byte... bytes) {
    return ByteBuffer.allocateDirect(bytes.length).put(bytes).flip();
  }

  protected static byte[] random(int length, long seed) {
    byte[] bytes = new byte[length];
    new Random(seed).nextBytes(bytes);
    return bytes;
  }

  protected static byte[] contents(StorageFile file) throws IOException {
    ByteBuffer target = ByteBuffer.allocateDirect((int) file.length());
    assertEquals(target.capacity(), file.read(target, 0));
    return bytes(target.flip());
  }

  protected static byte[] bytes(ByteBuffer buffer) {
    byte[] bytes = new byte[buffer.remaining()];
    buffer.duplicate().get(bytes);
    return bytes;
  }

  protected final void write(String name, byte... bytes) throws IOException {
    try (StorageFile file = storage.create(name)) {
      file.write(direct(bytes), 0);
    }
  }

  protected final byte[] read(String name) throws IOException {
    try (StorageFile file = storage.open(name, false)) {
      return contents(file);
    }
  }

  @Test
  void createdFileIsEmptyReadableAndWritable() throws IOException {
    try (StorageFile file = storage.create("a")) {
      assertEquals("a", file.name());
      assertEquals(0, file.length());
      file.write(direct((byte) 1), 0);
      assertArrayEquals(new byte[] {1}, contents(file));
    }
    assertTrue(storage.exists("a"));
  }

  @Test
  void createOfATakenNameFailsAndHarmsNothing() throws IOException {
    write("a", (byte) 1);

    assertThrows(FileAlreadyExistsException.class, () -> storage.create("a"));

    assertArrayEquals(new byte[] {1}, read("a"));
  }

  @Test
  void whatIsAbsentCannotBeOpenedRenamedOrDeleted() throws IOException {
    assertFalse(storage.exists("a"));
    assertThrows(NoSuchFileException.class, () -> storage.open("a", false));
    assertThrows(NoSuchFileException.class, () -> storage.open("a", true));
    assertThrows(NoSuchFileException.class, () -> storage.rename("a", "b"));
    assertThrows(NoSuchFileException.class, () -> storage.delete("a"));
    assertEquals(List.of(), storage.list());
  }

  @Test
  void namesThatLeaveTheDirectoryAreRefused() {
    for (String name : List.of("", ".", "..", "../a", "a/b", "/a", "a\\b", "a\0")) {
      assertThrows(IllegalArgumentException.class, () -> storage.create(name));
      assertThrows(IllegalArgumentException.class, () -> storage.open(name, false));
      assertThrows(IllegalArgumentException.class, () -> storage.exists(name));
      assertThrows(IllegalArgumentException.class, () -> storage.delete(name));
      assertThrows(IllegalArgumentException.class, () -> storage.rename("a", name));
      assertThrows(IllegalArgumentException.class, () -> storage.lock(name, false));
    }
  }

  @Test
  void writesAndReadsGoWhereTheySay() throws IOException {
    byte[] first = random(100_000, 1);
    byte[] second = random(5_000, 2);
    try (StorageFile file = storage.create("a")) {
      file.write(direct(first), 0);
      file.write(direct(second), 70_001);

      byte[] expected = first.clone();
      System.arraycopy(second, 0, expected, 70_001, second.length);
      assertArrayEquals(expected, contents(file));
      ByteBuffer part = ByteBuffer.allocateDirect(10);
      part.position(2).limit(7);
      assertEquals(5, file.read(part, 70_000));
      assertEquals(7, part.position());
      assertEquals(second[0], part.get(3));
    }
  }

  @Test
  void onlyTheRemainingBytesAreWritten() throws IOException {
    try (StorageFile file = storage.create("a")) {
      ByteBuffer source = direct((byte) 1, (byte) 2, (byte) 3, (byte) 4);
      source.position(1).limit(3);

      file.write(source, 0);

      assertFalse(source.hasRemaining());
      assertArrayEquals(new byte[] {2, 3}, contents(file));
    }
  }

  @Test
  void gapsReadAsZeros() throws IOException {
    try (StorageFile file = storage.create("a")) {
      file.write(direct((byte) 1), 3);

      assertArrayEquals(new byte[] {0, 0, 0, 1}, contents(file));
    }
  }

  @Test
  void writeOfNothingExtendsNothing() throws IOException {
    try (StorageFile file = storage.create("a")) {
      file.write(direct(), 100);

      assertEquals(0, file.length());
    }
  }

  @Test
  void readStopsAtTheEnd() throws IOException {
    write("a", (byte) 1, (byte) 2, (byte) 3);
    try (StorageFile file = storage.open("a", false)) {
      ByteBuffer target = ByteBuffer.allocateDirect(8);

      assertEquals(2, file.read(target, 1));
      assertEquals(2, target.position());
      assertEquals(0, file.read(target, 3));
      assertEquals(0, file.read(target, 1L << 40));
      assertEquals(2, target.position());
    }
  }

  @Test
  void unsuitableBuffersAndPositionsAreRefused() throws IOException {
    try (StorageFile file = storage.create("a")) {
      ByteBuffer readOnly = direct((byte) 1).asReadOnlyBuffer();

      assertThrows(IllegalArgumentException.class, () -> file.write(ByteBuffer.allocate(1), 0));
      assertThrows(IllegalArgumentException.class, () -> file.read(ByteBuffer.allocate(1), 0));
      assertThrows(IllegalArgumentException.class, () -> file.read(readOnly, 0));
      assertThrows(IllegalArgumentException.class, () -> file.write(direct((byte) 1), -1));
      assertThrows(IllegalArgumentException.class, () -> file.read(direct((byte) 1), -1));
      file.write(readOnly, 0);
      assertArrayEquals(new byte[] {1}, contents(file));
    }
  }

  @Test
  void fileOpenForReadingCannotBeChangedOrSynced() throws IOException {
    write("a", (byte) 1);
    try (StorageFile file = storage.open("a", false)) {
      assertThrows(NonWritableChannelException.class, () -> file.write(direct((byte) 2), 0));
      assertThrows(NonWritableChannelException.class, () -> file.truncate(0));
      assertThrows(NonWritableChannelException.class, file::sync);
    }
    assertArrayEquals(new byte[] {1}, read("a"));
  }

  @Test
  void openForWritingKeepsTheContent() throws IOException {
    write("a", (byte) 1, (byte) 2);
    try (StorageFile file = storage.open("a", true)) {
      file.write(direct((byte) 3), 2);
      file.sync();
    }
    assertArrayEquals(new byte[] {1, 2, 3}, read("a"));
  }

  @Test
  void renameReplacesTheTarget() throws IOException {
    write("a", (byte) 1);
    write("b", (byte) 2);

    storage.rename("a", "b");
    storage.syncDirectory();

    assertEquals(List.of("b"), storage.list());
    assertArrayEquals(new byte[] {1}, read("b"));
  }

  @Test
  void renameToItselfChangesNothing() throws IOException {
    write("a", (byte) 1);

    storage.rename("a", "a");

    assertArrayEquals(new byte[] {1}, read("a"));
  }

  @Test
  void openFileStaysTheSameFileWhateverHappensToItsName() throws IOException {
    write("b", (byte) 2);
    write("c", (byte) 3);
    try (StorageFile a = storage.create("a");
        StorageFile b = storage.open("b", false);
        StorageFile c = storage.open("c", false)) {
      storage.rename("a", "b");
      storage.delete("c");
      write("a", (byte) 9);
      write("c", (byte) 9);

      a.write(direct((byte) 1), 0);

      assertArrayEquals(new byte[] {1}, read("b"));
      assertArrayEquals(new byte[] {2}, contents(b));
      assertArrayEquals(new byte[] {3}, contents(c));
      assertEquals("a", a.name());
    }
  }

  @Test
  void listIsSorted() throws IOException {
    for (String name : List.of("c", "a", "b", "000002.sst", "000001.vlog")) {
      write(name);
    }
    storage.delete("b");

    assertEquals(List.of("000001.vlog", "000002.sst", "a", "c"), storage.list());
  }

  @Test
  void mappingShowsTheContentAndOutlivesFileAndName() throws IOException {
    byte[] content = random(10_000, 3);
    write("a", content);
    ByteBuffer mapped;
    try (StorageFile file = storage.open("a", false)) {
      mapped = file.map(content.length);
    }
    storage.delete("a");

    assertTrue(mapped.isDirect());
    assertEquals(0, mapped.position());
    assertEquals(content.length, mapped.limit());
    assertArrayEquals(content, bytes(mapped));
  }

  @Test
  void mappingOfAPartEndsThere() throws IOException {
    write("a", random(100, 4));
    try (StorageFile file = storage.open("a", true)) {
      assertEquals(60, file.map(60).capacity());
      assertEquals(0, file.map(0).capacity());
    }
  }

  @Test
  void mappingNeverExtendsTheFile() throws IOException {
    try (StorageFile file = storage.create("a")) {
      file.write(direct((byte) 1), 0);

      assertThrows(IllegalArgumentException.class, () -> file.map(2));
      assertThrows(IllegalArgumentException.class, () -> file.map(-1));
      assertThrows(IllegalArgumentException.class, () -> file.map(1L << 31));

      assertEquals(1, file.length());
    }
  }

  @Test
  void truncateCutsAndWhatIsWrittenBehindALaterGapIsZero() throws IOException {
    write("a", (byte) 1, (byte) 2, (byte) 3, (byte) 4);
    try (StorageFile file = storage.open("a", true)) {
      file.truncate(2);
      assertArrayEquals(new byte[] {1, 2}, contents(file));
      file.truncate(2);

      file.write(direct((byte) 9), 4);

      assertArrayEquals(new byte[] {1, 2, 0, 0, 9}, contents(file));
    }
  }

  @Test
  void truncateNeverExtends() throws IOException {
    try (StorageFile file = storage.create("a")) {
      assertThrows(IllegalArgumentException.class, () -> file.truncate(1));
      assertThrows(IllegalArgumentException.class, () -> file.truncate(-1));
      assertEquals(0, file.length());
    }
  }

  @Test
  void closedFileRefusesEverythingButClose() throws IOException {
    StorageFile file = storage.create("a");
    file.close();

    assertThrows(ClosedChannelException.class, file::length);
    assertThrows(ClosedChannelException.class, () -> file.write(direct((byte) 1), 0));
    assertThrows(ClosedChannelException.class, () -> file.read(direct((byte) 1), 0));
    assertThrows(ClosedChannelException.class, () -> file.map(0));
    assertThrows(ClosedChannelException.class, file::sync);
    assertThrows(ClosedChannelException.class, () -> file.truncate(0));
    file.close();
  }

  @Test
  void closedStorageRefusesEverythingButOpenFilesGoOn() throws IOException {
    try (StorageFile file = storage.create("a")) {
      storage.close();
      storage.close();

      assertThrows(IOException.class, () -> storage.create("b"));
      assertThrows(IOException.class, () -> storage.open("a", false));
      assertThrows(IOException.class, () -> storage.exists("a"));
      assertThrows(IOException.class, () -> storage.rename("a", "b"));
      assertThrows(IOException.class, () -> storage.delete("a"));
      assertThrows(IOException.class, storage::list);
      assertThrows(IOException.class, storage::syncDirectory);
      assertThrows(IOException.class, () -> storage.lock("LOCK", false));
      file.write(direct((byte) 1), 0);
      file.sync();
      assertArrayEquals(new byte[] {1}, contents(file));
    }
  }

  @Test
  void exclusiveLockExcludesEveryOther() throws IOException {
    try (StorageLock lock = storage.lock("LOCK", false)) {
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", true));
      lock.close();
      storage.lock("LOCK", true).close();
    }
    storage.lock("LOCK", false).close();
    assertEquals(List.of("LOCK"), storage.list());
  }

  @Test
  void sharedLocksExcludeOnlyExclusiveOnes() throws IOException {
    StorageLock first = storage.lock("LOCK", true);
    StorageLock second = storage.lock("LOCK", true);
    assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
    first.close();
    first.close();
    assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
    second.close();

    storage.lock("LOCK", false).close();
  }

  @Test
  void lockFileCanOnlyBeLocked() throws IOException {
    write("a");
    try (StorageLock lock = storage.lock("LOCK", false)) {
      assertThrows(IllegalArgumentException.class, () -> storage.open("LOCK", false));
      assertThrows(IllegalArgumentException.class, () -> storage.create("LOCK"));
      assertThrows(IllegalArgumentException.class, () -> storage.rename("LOCK", "b"));
      assertThrows(IllegalArgumentException.class, () -> storage.rename("a", "LOCK"));
      assertThrows(IllegalArgumentException.class, () -> storage.delete("LOCK"));
      assertThrows(IllegalArgumentException.class, () -> storage.lock("a", false));
      assertTrue(storage.exists("LOCK"));
      lock.close();
    }
    storage.delete("LOCK");
    assertFalse(storage.exists("LOCK"));
  }

  @Test
  void interruptedThreadDoesEverythingAndStaysInterrupted() throws IOException {
    Thread.currentThread().interrupt();

    try (StorageLock lock = storage.lock("LOCK", false);
        StorageFile file = storage.create("a")) {
      assertInterrupted();
      file.write(direct((byte) 1, (byte) 2), 0);
      assertInterrupted();
      file.sync();
      assertInterrupted();
      assertEquals(2, file.length());
      assertInterrupted();
      assertArrayEquals(new byte[] {1, 2}, contents(file));
      assertInterrupted();
      assertArrayEquals(new byte[] {1, 2}, bytes(file.map(2)));
      assertInterrupted();
      file.truncate(1);
      assertInterrupted();
      storage.rename("a", "b");
      storage.syncDirectory();
      assertInterrupted();
      assertArrayEquals(new byte[] {1}, read("b"));
      storage.delete("b");
      assertEquals(List.of("LOCK"), storage.list());
      assertInterrupted();
      lock.close();
      storage.lock("LOCK", false).close();
    }
    assertInterrupted();
  }

  /** Also catches an implementation that clears the flag and sets it only at the very end. */
  private static void assertInterrupted() {
    assertTrue(Thread.currentThread().isInterrupted());
  }

  /** Where a directory of that name would go. */
  protected abstract Path beside(String name);

  /** Whether a new directory can have files in common with the storage. */
  protected boolean links() {
    return true;
  }

  @Test
  void aNewDirectoryHasItsNameWhenItIsPublished() throws IOException {
    write("a", (byte) 1);
    try (NewDirectory made = storage.newDirectory(beside("new"))) {
      try (StorageFile file = made.storage().create("b")) {
        file.write(direct((byte) 2), 0);
        file.sync();
      }
      assertEquals(links(), made.link("a"));
      assertEquals(links() ? List.of("a", "b") : List.of("b"), made.storage().list());
      made.storage().syncDirectory();
      made.publish();
    }

    assertEquals(List.of("a"), storage.list());
    assertThrows(
        FileAlreadyExistsException.class, () -> storage.newDirectory(beside("new")).close());
  }

  @Test
  void aNewDirectoryThatIsNotPublishedIsRemoved() throws IOException {
    write("a", (byte) 1);
    try (NewDirectory made = storage.newDirectory(beside("new"))) {
      made.storage().create("b").close();
      assertEquals(links(), made.link("a"));
    }

    assertArrayEquals(new byte[] {1}, read("a"));
    try (NewDirectory again = storage.newDirectory(beside("new"))) {
      assertEquals(List.of(), again.storage().list());
    }
  }

  @Test
  void twoNewDirectoriesOfOneNameDoNotMeet() throws IOException {
    try (NewDirectory first = storage.newDirectory(beside("new"));
        NewDirectory second = storage.newDirectory(beside("new"))) {
      first.storage().create("a").close();
      second.storage().create("a").close();
      second.publish();

      assertThrows(FileAlreadyExistsException.class, first::publish);
    }
  }

  @Test
  void aLinkIsTheSameFile() throws IOException {
    assumeTrue(links());
    try (StorageFile file = storage.create("a");
        NewDirectory made = storage.newDirectory(beside("new"))) {
      assertTrue(made.link("a"));
      file.write(direct((byte) 1, (byte) 2), 0);
      try (StorageFile linked = made.storage().open("a", false)) {
        assertArrayEquals(new byte[] {1, 2}, contents(linked));
      }
      storage.delete("a");
      assertTrue(made.storage().exists("a"));
      assertThrows(NoSuchFileException.class, () -> made.link("b"));
      assertThrows(IllegalArgumentException.class, () -> made.link("../a"));
    }
  }

  @Test
  void writersOfDifferentPartsDoNotDisturbEachOther() throws Exception {
    int parts = 4;
    int partLength = 64 * 1024;
    byte[] expected = random(parts * partLength, 5);
    ExecutorService threads = Executors.newFixedThreadPool(parts);
    try (StorageFile file = storage.create("a")) {
      List<Future<?>> writers = new ArrayList<>();
      for (int i = 0; i < parts; i++) {
        int start = i * partLength;
        writers.add(
            threads.submit(
                () -> {
                  for (int at = start; at < start + partLength; at += 1024) {
                    ByteBuffer source = ByteBuffer.allocateDirect(1024);
                    file.write(source.put(expected, at, 1024).flip(), at);
                  }
                  return null;
                }));
      }
      for (Future<?> writer : writers) {
        writer.get();
      }

      assertArrayEquals(expected, contents(file));
    } finally {
      threads.shutdown();
    }
  }
}
