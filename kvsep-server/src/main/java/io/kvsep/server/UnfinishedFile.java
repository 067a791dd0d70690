package io.kvsep.server;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A new file that is removed unless it becomes whole: on close, and also when the program is
 * interrupted before that.
 */
final class UnfinishedFile implements AutoCloseable {
  private final Path path;
  private final FileChannel channel;
  private final Thread removal = new Thread(this::removeAtExit, "kvsep-removal");

  /** Whether it is whole, or gone: one of both happens, once. */
  private final AtomicBoolean decided = new AtomicBoolean();

  UnfinishedFile(Path path) throws IOException {
    this.path = path;
    this.channel = FileChannel.open(path, StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW);
    Runtime.getRuntime().addShutdownHook(removal);
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
      try {
        Runtime.getRuntime().removeShutdownHook(removal);
      } catch (IllegalStateException e) {
        // The program is going down already, and the hook is at work.
      }
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

  private void remove() throws IOException {
    if (decided.compareAndSet(false, true)) {
      Files.deleteIfExists(path);
    }
  }
}
