package io.kvsep.server.cli;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.HexFormat;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A new file that is removed unless it is completed: on close, or at exit if the program is
 * interrupted first. It is completed in place, or its content is moved to another name.
 */
final class UnfinishedFile implements AutoCloseable {
  private final Path path;
  private final FileChannel channel;
  private final Thread removal = new Thread(this::removeAtExit, "kvsep-removal");

  /** Set once, when the file is completed or removed. */
  private final AtomicBoolean decided = new AtomicBoolean();

  UnfinishedFile(Path path) throws IOException {
    this.path = path;
    // Before the file is created: at shutdown none must be created.
    try {
      Runtime.getRuntime().addShutdownHook(removal);
    } catch (IllegalStateException e) {
      throw interrupted();
    }
    FileChannel opened = null;
    try {
      opened = open();
    } finally {
      if (opened == null) {
        keepNoHook();
      }
    }
    this.channel = opened;
  }

  /** Creates a temporary file next to a target that it will be moved to. */
  static UnfinishedFile beside(Path target) throws IOException {
    String name = ".kvsep-" + HexFormat.of().toHexDigits(ThreadLocalRandom.current().nextLong());
    return new UnfinishedFile(target.resolveSibling(name));
  }

  private synchronized FileChannel open() throws IOException {
    if (decided.get()) {
      throw interrupted();
    }
    return FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
  }

  private CommandFailure interrupted() {
    return CommandFailure.failed("interrupted, and " + path + " is not written");
  }

  FileChannel channel() {
    return channel;
  }

  /** Keeps the file; content and name are durable on return. */
  void finish() throws IOException {
    channel.force(true);
    syncName();
    if (!decided.compareAndSet(false, true)) {
      throw CommandFailure.failed("interrupted, and " + path + " is removed");
    }
  }

  /** Atomically replaces a file with this one; replaces a link itself, not its target. */
  void replace(Path target) throws IOException {
    channel.close();
    Files.move(path, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Moves the file to a new name; throws {@link FileAlreadyExistsException} if the name exists. */
  void take(Path target) throws IOException {
    channel.close();
    try {
      // The only call that names a complete file and never replaces another.
      Files.createLink(target, path);
    } catch (FileAlreadyExistsException e) {
      throw e;
    } catch (FileSystemException | UnsupportedOperationException e) {
      reserve(target);
    }
  }

  /** Does the same as {@link #take} on file systems without hard links. */
  void reserve(Path target) throws IOException {
    channel.close();
    Files.createFile(target);
    boolean taken = false;
    try {
      replace(target);
      taken = true;
    } finally {
      if (!taken) {
        Files.deleteIfExists(target);
      }
    }
  }

  /** Windows cannot open a directory as a file and does not need to. */
  private void syncName() throws IOException {
    Path directory = path.toAbsolutePath().getParent();
    if (File.separatorChar == '/' && directory != null && Files.isReadable(directory)) {
      try (FileChannel names = FileChannel.open(directory, StandardOpenOption.READ)) {
        names.force(true);
      }
    }
  }

  @Override
  public void close() throws IOException {
    try (channel) {
      remove();
    } finally {
      keepNoHook();
    }
  }

  /** Adds the name of the file, which a refused write lacks. */
  static IOException named(Path file, IOException refusal) {
    return refusal instanceof FileSystemException
        ? refusal
        : new IOException("cannot write " + file + ": " + refusal.getMessage(), refusal);
  }

  private void keepNoHook() {
    try {
      Runtime.getRuntime().removeShutdownHook(removal);
    } catch (IllegalStateException e) {
      // The program is exiting, and the hook runs.
      return;
    }
  }

  private void removeAtExit() {
    try {
      remove();
    } catch (IOException e) {
      // The program is exiting; nothing can report the failure.
      return;
    }
  }

  private synchronized void remove() throws IOException {
    if (decided.compareAndSet(false, true)) {
      Files.deleteIfExists(path);
    }
  }
}
