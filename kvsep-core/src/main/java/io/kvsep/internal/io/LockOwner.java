package io.kvsep.internal.io;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The identity that a process with an exclusive lock writes into the lock file. POSIX drops the
 * lock when any code in the process closes a channel of that file, for example to copy the
 * directory; the identity still keeps other processes out. The file is one line, empty if no
 * process has an exclusive lock:
 *
 * <pre>
 * process id
 * space
 * start time of the process, in ISO 8601
 * space
 * file key of the lock file, so that a copy of it names no process
 * line feed
 * </pre>
 *
 * <p>An identity counts only if a process other than this one has that id and start time; that of a
 * dead process may remain. Malformed content names no process.
 */
final class LockOwner {
  private static final int BYTES_MAX = 512;

  /** The start time comes from a clock that may have been adjusted since. */
  private static final Duration START_TOLERANCE = Duration.ofSeconds(2);

  /** Of this process; reading it opens some files. */
  private static final Optional<Instant> START = ProcessHandle.current().info().startInstant();

  private LockOwner() {}

  static void write(FileChannel channel, Object file) throws IOException {
    if (START.isEmpty()) {
      return;
    }
    String line = ProcessHandle.current().pid() + " " + START.get() + " " + file + "\n";
    ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(ISO_8859_1));
    if (bytes.remaining() > BYTES_MAX) {
      return;
    }
    channel.truncate(0);
    while (bytes.hasRemaining()) {
      channel.write(bytes, bytes.position());
    }
  }

  /** The remaining line feed shows that the file had a holder. Needs no disk space. */
  static void erase(FileChannel channel) throws IOException {
    channel.write(ByteBuffer.wrap(new byte[] {'\n'}), 0);
    channel.truncate(1);
  }

  /** For a process that lost the lock: the identity may be another process's. */
  static void eraseOwn(FileChannel channel) throws IOException {
    if (line(channel).startsWith(ProcessHandle.current().pid() + " ")) {
      erase(channel);
    }
  }

  private static String line(FileChannel channel) throws IOException {
    ByteBuffer bytes = ByteBuffer.allocate(BYTES_MAX);
    int count = 0;
    while (count >= 0 && bytes.hasRemaining()) {
      count = channel.read(bytes, bytes.position());
    }
    return new String(bytes.array(), 0, bytes.position(), ISO_8859_1);
  }

  /** The id of another live process whose identity is in the file. */
  static @Nullable Long otherAlive(FileChannel channel, Object file) throws IOException {
    String line = line(channel);
    String[] words = line.endsWith("\n") ? line.stripTrailing().split(" ", 3) : new String[0];
    if (words.length < 3 || !words[2].equals(file.toString())) {
      return null;
    }
    try {
      long id = Long.parseLong(words[0]);
      return id != ProcessHandle.current().pid() && isAlive(id, Instant.parse(words[1]))
          ? (Long) id
          : null;
    } catch (NumberFormatException | DateTimeParseException e) {
      return null;
    }
  }

  private static boolean isAlive(long id, Instant start) {
    Optional<Instant> found = ProcessHandle.of(id).flatMap(handle -> handle.info().startInstant());
    return found.isPresent()
        && Duration.between(start, found.get()).abs().compareTo(START_TOLERANCE) <= 0
        && !isZombie(id);
  }

  /** Whether it has ended but its parent has not reaped it. */
  private static boolean isZombie(long id) {
    try {
      String state = Files.readString(Path.of("/proc", Long.toString(id), "stat"), ISO_8859_1);
      // The name before may contain anything.
      return state.startsWith(") Z", state.lastIndexOf(')'));
    } catch (IOException e) {
      return false;
    }
  }
}
