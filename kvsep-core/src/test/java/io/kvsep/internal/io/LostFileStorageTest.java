package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;

/** A {@link FileStorage} whose directory or lock file is no longer what has the name. */
@DisabledOnOs(value = OS.WINDOWS, disabledReason = "what is open can be neither moved nor deleted")
final class LostFileStorageTest {
  private static final byte OWN = 7;
  private static final byte FOREIGN = 9;

  @TempDir Path parent;

  private Path directory = Path.of("");
  private FileStorage storage;

  @BeforeEach
  void open() throws IOException {
    directory = parent.resolve("store");
    storage = new FileStorage(directory, /* createIfMissing= */ true);
    try (StorageFile file = storage.create("a")) {
      file.write(ByteBuffer.allocateDirect(1).put(OWN).flip(), 0);
    }
  }

  @AfterEach
  void close() {
    storage.close();
  }

  private Path moved() {
    return parent.resolve("moved");
  }

  private void replace() throws IOException {
    Files.move(directory, moved());
    Files.createDirectory(directory);
    Files.write(directory.resolve("a"), new byte[] {FOREIGN});
  }

  private static void assertLost(Executable operation) {
    assertThrows(LostDirectoryException.class, operation);
  }

  private void assertAllLost() {
    assertLost(storage::checkDirectory);
    assertLost(() -> storage.create("b"));
    assertLost(() -> storage.open("a", /* writable= */ false));
    assertLost(() -> storage.open("a", /* writable= */ true));
    assertLost(() -> storage.exists("a"));
    assertLost(() -> storage.rename("a", "b"));
    assertLost(() -> storage.delete("a"));
    assertLost(storage::list);
    assertLost(storage::syncDirectory);
    assertLost(() -> storage.lock(StoreFiles.LOCK, /* shared= */ false));
    assertLost(() -> storage.newDirectory(parent.resolve("new")));
  }

  @Test
  void nothingThatGoesByANameReachesADirectoryInThePlaceOfItsOwn() throws IOException {
    replace();
    assertAllLost();
    assertEquals(List.of("a"), names(directory));
    assertEquals(List.of("a"), names(moved()));
    assertArrayEquals(new byte[] {FOREIGN}, Files.readAllBytes(directory.resolve("a")));
  }

  @Test
  void aMovedAndADeletedDirectoryAreLost() throws IOException {
    Files.move(directory, moved());
    assertAllLost();
    assertFalse(Files.exists(directory));
    Files.move(moved(), directory);
    assertEquals(List.of("a"), storage.list());
    Files.delete(directory.resolve("a"));
    Files.delete(directory);
    assertAllLost();
    // The system may not call it what it called the one that is still open.
    Files.createDirectory(directory);
    assertAllLost();
  }

  @Test
  void aLinkInThePlaceOfTheDirectoryThatLeadsThereIsNoLoss() throws IOException {
    Files.move(directory, moved());
    Files.createSymbolicLink(directory, moved());
    storage.rename("a", "b");
    assertEquals(List.of("b"), names(moved()));
  }

  @Test
  void aLockFileThatIsDeletedOrReplacedIsALossAsLongAsItIsHeld() throws IOException {
    try (StorageLock lock = storage.lock(StoreFiles.LOCK, /* shared= */ false)) {
      Files.delete(directory.resolve(StoreFiles.LOCK));
      assertAllLost();
      Files.createFile(directory.resolve(StoreFiles.LOCK));
      assertAllLost();
      lock.close();
    }
    assertArrayEquals(new byte[0], Files.readAllBytes(directory.resolve(StoreFiles.LOCK)));
    assertTrue(storage.exists("a"));
  }

  /** A copy of a directory that is made of links has its lock file, too. */
  @Test
  void aDirectoryWithTheSameLockFileIsAnotherOne() throws IOException {
    try (StorageLock lock = storage.lock(StoreFiles.LOCK, /* shared= */ false)) {
      replace();
      Files.createLink(directory.resolve(StoreFiles.LOCK), moved().resolve(StoreFiles.LOCK));
      assertAllLost();
      lock.close();
    }
  }

  @Test
  void openFilesGoOnAndAreNotOpenedAgainByName() throws IOException {
    try (StorageFile file = storage.open("a", /* writable= */ true)) {
      replace();
      file.write(ByteBuffer.allocateDirect(1).put(OWN).flip(), 1);
      file.sync();
      assertLost(() -> storage.reopen((ChannelFile) file));
      assertEquals(2, file.length());
    }
    assertArrayEquals(new byte[] {OWN, OWN}, Files.readAllBytes(moved().resolve("a")));
    assertArrayEquals(new byte[] {FOREIGN}, Files.readAllBytes(directory.resolve("a")));
  }

  @Test
  void aNewDirectoryGetsNoLinksToFilesOfAnother() throws IOException {
    try (NewDirectory copy = storage.newDirectory(parent.resolve("copy"))) {
      replace();
      assertLost(() -> copy.link("a"));
      assertEquals(List.of(), copy.storage().list());
    }
    assertFalse(Files.exists(parent.resolve("copy")));
  }

  @Test
  void whatTakesThePlaceOfANewDirectoryIsNeitherFilledNorPublishedNorDeleted() throws IOException {
    Path partial = parent.resolve("copy.partial");
    try (NewDirectory copy = storage.newDirectory(parent.resolve("copy"))) {
      assertTrue(copy.link("a"));
      Files.move(partial, moved());
      Files.createDirectory(partial);
      Files.createFile(partial.resolve("kept"));
      assertLost(() -> copy.link("a"));
      assertLost(() -> copy.storage().create("b"));
      assertLost(copy::publish);
    }
    assertEquals(List.of("kept"), names(partial));
    assertEquals(List.of("a"), names(moved()));
    assertFalse(Files.exists(parent.resolve("copy")));
  }

  private static List<String> names(Path directory) throws IOException {
    try (Stream<Path> files = Files.list(directory)) {
      return files.map(file -> String.valueOf(file.getFileName())).sorted().toList();
    }
  }
}
