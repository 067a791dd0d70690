package io.kvsep.internal.io;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kvsep.error.StoreLockedException;
import io.kvsep.internal.memory.Region;
import io.kvsep.testing.JavaProcess;
import java.io.File;
import java.io.IOException;
import java.net.URISyntaxException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

final class FileStorageTest extends StorageContract {
  /** Of each kind of operation, so many interrupts must have hit while it ran. */
  private static final int HITS = 10;

  /** So many that nothing else is likely to be mapped in place of all of them. */
  private static final int UNTOLD_BYTES = 64 << 20;

  @TempDir Path parent;

  @Override
  protected Storage emptyStorage() throws IOException {
    return new FileStorage(parent.resolve("store"), true);
  }

  @Override
  protected Path beside(String name) {
    return parent.resolve("missing").resolve(name);
  }

  @Test
  void aNewDirectoryTakesTheNameOfNothing() throws IOException {
    Path empty = Files.createDirectory(parent.resolve("empty"));
    Path file = Files.createFile(parent.resolve("file"));
    Path link = Files.createSymbolicLink(parent.resolve("link"), parent.resolve("nowhere"));
    for (Path taken : List.of(empty, file, link, parent.resolve("."), Path.of("/"))) {
      assertThrows(FileAlreadyExistsException.class, () -> storage.newDirectory(taken), "" + taken);
    }
    try (NewDirectory made = storage.newDirectory(beside("new"))) {
      Files.createDirectory(beside("new"));

      assertThrows(FileAlreadyExistsException.class, made::publish);
    }
    try (Stream<Path> left = Files.list(beside("new").getParent())) {
      assertEquals(List.of(beside("new")), left.toList());
    }
  }

  @Test
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "Java cannot tell there")
  void whatWasJustReadNeedsNoLoad() throws IOException {
    try (Storage storage = emptyStorage();
        StorageFile file = storage.create("000001.vlog")) {
      file.write(ByteBuffer.allocateDirect(100_000), 0);
      ByteBuffer mapped = file.map(100_000);
      for (int i = 0; i < mapped.limit(); i++) {
        assertEquals(0, mapped.get(i));
      }
      assertFalse(storage.load(mapped));
      assertFalse(storage.load(mapped.slice(50_000, 10)));
    }
  }

  /** As behind a filter of system calls. */
  @Test
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "Java does not ask there")
  void everythingIsLoadedWhereTheSystemRefusesToTell() throws IOException {
    try (Storage storage = emptyStorage();
        StorageFile file = storage.create("000001.vlog")) {
      file.write(ByteBuffer.allocateDirect(1), 0);
      file.write(ByteBuffer.allocateDirect(1), UNTOLD_BYTES - 1);
      ByteBuffer here = file.map(1);
      assertEquals(0, here.get(0));
      assertFalse(storage.load(here));

      // Of what is not mapped any more the system tells nothing either.
      ByteBuffer gone = file.map(UNTOLD_BYTES);
      Region.ofMapping(gone).free();
      assertTrue(storage.load(gone));

      assertTrue(storage.load(here), "asked again");
    }
  }

  /** A process that asks may be killed for it. */
  @Test
  void everythingIsLoadedWhereAskingIsTurnedOff() throws IOException {
    System.setProperty("kvsep.mincore", "false");
    try (Storage storage = emptyStorage();
        StorageFile file = storage.create("000001.vlog")) {
      file.write(ByteBuffer.allocateDirect(1), 0);
      ByteBuffer mapped = file.map(1);
      assertEquals(0, mapped.get(0));
      assertTrue(storage.load(mapped));
    } finally {
      System.clearProperty("kvsep.mincore");
    }
  }

  @Test
  void missingDirectoryIsMadeOnlyWhenAsked() throws IOException {
    Path missing = parent.resolve("x").resolve("y");

    assertThrows(NoSuchFileException.class, () -> new FileStorage(missing, false));
    new FileStorage(missing, true).close();
    new FileStorage(missing, false).close();

    assertTrue(Files.isDirectory(missing));
  }

  @Test
  void fileInPlaceOfTheDirectoryIsRefused() throws IOException {
    Path file = Files.createFile(parent.resolve("file"));

    assertThrows(NotDirectoryException.class, () -> new FileStorage(file, true));
    assertThrows(NotDirectoryException.class, () -> new FileStorage(file, false));
  }

  @Test
  void subdirectoriesAreNotListed() throws IOException {
    write("a");
    Files.createDirectory(Path.of(storage.location()).resolve("lost+found"));

    assertEquals(List.of("a"), storage.list());
  }

  @Test
  void failedDeleteLeavesTheOpenFileItsName() throws Exception {
    Path directory = Path.of(storage.location());
    StorageFile file = storage.create("a");
    // A name that cannot be deleted as a file, in the place of the one that is open.
    Files.delete(directory.resolve("a"));
    Path obstacle = Files.createDirectory(directory.resolve("a"));
    Files.createFile(obstacle.resolve("b"));
    assertThrows(IOException.class, () -> storage.delete("a"));
    Files.delete(obstacle.resolve("b"));
    Files.delete(obstacle);
    write("a", (byte) 7);

    storm((ChannelFile) file, HITS, () -> file.read(ByteBuffer.allocateDirect(1), 0));

    assertArrayEquals(new byte[] {7}, contents(file));
    file.close();
  }

  @Test
  void mappingIsTheOriginalOne() throws IOException {
    write("a", (byte) 1);
    try (StorageFile file = storage.open("a", true)) {
      ByteBuffer mapped = file.map(1);

      assertTrue(mapped instanceof MappedByteBuffer);
      assertTrue(mapped.isReadOnly());
    }
  }

  @Test
  @Timeout(120)
  void interruptsNeitherLoseNorShortenWrites() throws Exception {
    int length = 256 * 1024;
    List<ByteBuffer> sources = new ArrayList<>();
    for (int seed = 0; seed < 13; seed++) {
      sources.add(direct(random(length, seed)));
    }
    try (ChannelFile file = (ChannelFile) storage.create("a")) {
      ByteBuffer[] last = new ByteBuffer[4];
      int[] next = {0};
      storm(
          file,
          HITS,
          () -> {
            int slot = next[0] % last.length;
            ByteBuffer source = sources.get(next[0]++ % sources.size()).duplicate();
            last[slot] = source.duplicate();
            file.write(source, (long) slot * length);
            assertEquals(0, source.remaining());
          });

      for (int slot = 0; slot < last.length; slot++) {
        ByteBuffer target = ByteBuffer.allocateDirect(length);
        assertEquals(length, file.read(target, (long) slot * length));
        assertEquals(last[slot], target.flip());
      }
    }
  }

  @Test
  @Timeout(120)
  void interruptsNeitherFailNorShortenReads() throws Exception {
    byte[] content = random(4 << 20, 1);
    write("a", content);
    try (ChannelFile file = (ChannelFile) storage.open("a", false)) {
      ByteBuffer target = ByteBuffer.allocateDirect(content.length);
      storm(
          file,
          HITS,
          () -> {
            target.clear();
            assertEquals(content.length, file.read(target, 0));
            assertEquals(ByteBuffer.wrap(content), target.flip());
          });
    }
  }

  @Test
  @Timeout(120)
  void interruptsFailNeitherMapNorLengthNorTruncate() throws Exception {
    byte[] content = random(4096, 2);
    write("a", content);
    try (ChannelFile file = (ChannelFile) storage.open("a", true)) {
      storm(file, HITS, () -> assertEquals(ByteBuffer.wrap(content), file.map(content.length)));
      storm(file, HITS, () -> assertEquals(content.length, file.length()));
      storm(
          file,
          HITS,
          () -> {
            file.write(direct((byte) 1), content.length);
            file.truncate(content.length);
          });
      assertArrayEquals(content, contents(file));
    }
  }

  @Test
  @Timeout(120)
  void syncsAndLocksAreIndifferentToInterrupts() throws Exception {
    try (ChannelFile file = (ChannelFile) storage.create("a")) {
      storm(
          file,
          HITS,
          () -> {
            // The write is what an interrupt can hit, so that the storm can tell when it is over.
            file.write(ByteBuffer.allocateDirect(1 << 16), 0);
            file.sync();
            storage.syncDirectory();
            storage.lock("LOCK", false).close();
            storage.lock("LOCK", true).close();
          });
    }
  }

  @Test
  @Timeout(120)
  void othersWhoUseTheFileDoNotNoticeAnInterrupt() throws Exception {
    byte[] content = random(1 << 20, 3);
    write("a", content);
    ExecutorService threads = Executors.newFixedThreadPool(1);
    try (ChannelFile file = (ChannelFile) storage.open("a", false)) {
      AtomicBoolean over = new AtomicBoolean();
      Future<?> other =
          threads.submit(
              () -> {
                ByteBuffer target = ByteBuffer.allocateDirect(content.length);
                while (!over.get()) {
                  target.clear();
                  assertEquals(content.length, file.read(target, 0));
                  assertEquals(ByteBuffer.wrap(content), target.flip());
                  assertTrue(!Thread.currentThread().isInterrupted());
                }
                return null;
              });
      ByteBuffer target = ByteBuffer.allocateDirect(content.length);
      storm(file, HITS, () -> file.read(target.clear(), 0));
      over.set(true);
      other.get();
    } finally {
      threads.shutdown();
    }
  }

  @Test
  @Timeout(120)
  void interruptedFileFollowsItsNameButNeverTakesAnotherFile() throws Exception {
    write("b", (byte) 2);
    try (ChannelFile renamed = (ChannelFile) storage.create("a");
        ChannelFile replaced = (ChannelFile) storage.open("b", false)) {
      renamed.write(direct((byte) 1), 0);
      storage.rename("a", "b");
      write("a", (byte) 9);
      ByteBuffer one = ByteBuffer.allocateDirect(1);

      storm(renamed, HITS, () -> assertEquals(1, renamed.read(one.clear(), 0)));

      assertArrayEquals(new byte[] {1}, contents(renamed));
      assertThrows(
          NoSuchFileException.class,
          () -> storm(replaced, HITS, () -> assertEquals(1, replaced.read(one.clear(), 0))));
    }
  }

  /**
   * Repeats an operation on this thread, while another interrupts it all the time, until so many
   * interrupts have closed the channel under it. After each repetition that saw an interrupt the
   * flag must be set.
   */
  private static void storm(ChannelFile file, int hits, IoAction action) throws Exception {
    Thread target = Thread.currentThread();
    AtomicBoolean over = new AtomicBoolean();
    AtomicLong interrupts = new AtomicLong();
    Thread interrupter =
        new Thread(
            () -> {
              Random random = new Random(hits);
              while (!over.get()) {
                target.interrupt();
                interrupts.incrementAndGet();
                for (int pause = random.nextInt(1024); pause > 0; pause--) {
                  Thread.onSpinWait();
                }
              }
            });
    interrupter.start();
    try {
      int end = file.generation() + hits;
      while (file.generation() < end) {
        Thread.interrupted();
        long before = interrupts.get();
        action.run();
        // The first that is counted may be one whose flag was cleared above.
        boolean expected = interrupts.get() >= before + 2;
        assertTrue(!expected || target.isInterrupted(), "the flag was lost");
      }
    } finally {
      over.set(true);
      // Not a join, which the last of the storm would interrupt.
      while (interrupter.isAlive()) {
        Thread.onSpinWait();
      }
      Thread.interrupted();
    }
  }

  @Test
  void secondStorageOfTheSameDirectoryCannotLock() throws IOException {
    try (StorageLock lock = storage.lock("LOCK", false);
        Storage other = new FileStorage(Path.of(storage.location()), false)) {
      assertThrows(StoreLockedException.class, () -> other.lock("LOCK", false));
      assertThrows(StoreLockedException.class, () -> other.lock("LOCK", true));
      lock.close();
      other.lock("LOCK", false).close();
    }
  }

  @Test
  void linkToTheDirectoryIsTheSameDirectory() throws IOException {
    Path link;
    try {
      link = Files.createSymbolicLink(parent.resolve("link"), Path.of(storage.location()));
    } catch (UnsupportedOperationException | IOException e) {
      return;
    }
    try (StorageLock lock = storage.lock("LOCK", false);
        Storage other = new FileStorage(link, false)) {
      assertThrows(StoreLockedException.class, () -> other.lock("LOCK", false));
      lock.close();
    }
  }

  @Test
  @Timeout(120)
  void lockOfThisProcessExcludesAnotherProcess() throws Exception {
    try (StorageLock lock = storage.lock("LOCK", false)) {
      // None of this may release the lock, as closing another channel of the file would.
      write("a");
      storage.list();
      storage.exists("LOCK");
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
      assertEquals("refused", outcomeOfChild(false));
      assertEquals("refused", outcomeOfChild(true));
      lock.close();
    }
    assertEquals("locked", outcomeOfChild(false));

    try (StorageLock lock = storage.lock("LOCK", true)) {
      assertEquals("refused", outcomeOfChild(false));
      assertEquals("locked", outcomeOfChild(true));
      lock.close();
    }
  }

  @Test
  @Timeout(120)
  void lockThatOtherCodeOfThisProcessHoldsIsNoticedAndNotReleased() throws Exception {
    Path path = Path.of(storage.location()).resolve("LOCK");
    try (FileChannel other =
        FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      assertTrue(other.tryLock().isValid());

      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", true));

      assertEquals("refused", outcomeOfChild(false));
    }
    storage.lock("LOCK", false).close();
    storage.lock("LOCK", true).close();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  @Timeout(120)
  @DisabledOnOs(value = OS.WINDOWS, disabledReason = "a file that is open stays there")
  void aTryAtAFileThatIsGoneDoesNotStandForTheOneInItsPlace(boolean shared) throws Exception {
    Path path = Path.of(storage.location()).resolve("LOCK");
    try (FileChannel other =
        FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      assertTrue(other.tryLock().isValid());
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", shared));
    }
    Files.delete(path);
    Files.createFile(path);

    try (StorageLock lock = storage.lock("LOCK", shared)) {
      assertEquals("refused", outcomeOfChild(false));
      lock.close();
    }
    assertEquals("locked", outcomeOfChild(false));
  }

  @Test
  @Timeout(120)
  void lockOfAnotherProcessExcludesThisOneUntilThatDies() throws Exception {
    Process child = child(false);
    try {
      assertEquals("locked", JavaProcess.firstLine(child));

      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", false));
      assertThrows(StoreLockedException.class, () -> storage.lock("LOCK", true));
    } finally {
      child.destroyForcibly().waitFor();
    }
    storage.lock("LOCK", false).close();
  }

  private String outcomeOfChild(boolean shared) throws Exception {
    Process child = child(shared);
    try {
      return JavaProcess.firstLine(child);
    } finally {
      child.destroyForcibly().waitFor();
    }
  }

  private Process child(boolean shared) throws IOException, URISyntaxException {
    String classPath = classPathOf(FileStorage.class) + File.pathSeparator;
    return new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "java").toString(),
            "-Xshare:auto",
            "-cp",
            classPath + classPathOf(LockingProcess.class),
            LockingProcess.class.getName(),
            storage.location(),
            Boolean.toString(shared))
        .redirectError(ProcessBuilder.Redirect.INHERIT)
        .start();
  }

  private static String classPathOf(Class<?> type) throws URISyntaxException {
    return Path.of(type.getProtectionDomain().getCodeSource().getLocation().toURI()).toString();
  }

  private interface IoAction {
    void run() throws IOException;
  }
}
