package io.kvsep.server;

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
 * A new file that is removed unless it becomes whole: on close, and also when the program is
 * interrupted before that. It becomes whole where it is, or gives what it has to another name.
 */
final class UnfinishedFile implements AutoCloseable {
  private final Path path;
  private final FileChannel channel;
  private final Thread removal = new Thread(this::removeAtExit, "kvsep-removal");

  /** Whether it is whole, or gone: one of both happens, once. */
  private final AtomicBoolean decided = new AtomicBoolean();

  UnfinishedFile(Path path) throws IOException {
    this.path = path;
    // Before there is a file: none is made when the program is going down already.
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

  /** A file beside another one, to which it is to give its content. */
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

  /** The file stays; content and name are on stable storage on return. */
  void finish() throws IOException {
    channel.force(true);
    syncName();
    if (!decided.compareAndSet(false, true)) {
      throw CommandFailure.failed("interrupted, and " + path + " is removed");
    }
  }

  /** Gives its content the name of a file, which goes in the same moment; a link goes itself. */
  void replace(Path target) throws IOException {
    channel.close();
    Files.move(path, target, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
  }

  /** Gives its content a name that nothing has, which is a {@link FileAlreadyExistsException}. */
  void take(Path target) throws IOException {
    channel.close();
    try {
      // The one call that gives a name to a whole file and never takes that of another.
      Files.createLink(target, path);
    } catch (FileAlreadyExistsException e) {
      throw e;
    } catch (FileSystemException | UnsupportedOperationException e) {
      reserve(target);
    }
  }

  /** As {@link #take} where files cannot have two names. */
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

  /** Windows neither opens a directory as a file nor needs to. */
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

  private void keepNoHook() {
    try {
      Runtime.getRuntime().removeShutdownHook(removal);
    } catch (IllegalStateException e) {
      // The program is going down already, and the hook is at work.
      return;
    }
  }

  private void removeAtExit() {
    try {
      remove();
    } catch (IOException e) {
      // The program is going down and nobody is left to be told.
      return;
    }
  }

  private synchronized void remove() throws IOException {
    if (decided.compareAndSet(false, true)) {
      Files.deleteIfExists(path);
    }
  }
}
