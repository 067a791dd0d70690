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
 * The name that a process which has a lock for itself leaves in the lock file. On POSIX its lock is
 * lost as soon as any code in it closes a channel of that file, such as one that copies the
 * directory; then the name still keeps other processes out. One line; a line feed alone when no
 * process has the lock for itself:
 *
 * <pre>
 * process id
 * space
 * when the process was started, as ISO 8601 has it
 * space
 * what the system calls the file, so that a copy of it names nobody
 * line feed
 * </pre>
 *
 * <p>A process that died leaves its name. It counts as long as there is a process with that id and
 * that start, and another one than this. What cannot be read names nobody: the lock is there all
 * the same.
 */
final class LockOwner {
  private static final int BYTES_MAX = 512;

  /** The start of a process is told by a clock that may have been set meanwhile. */
  private static final Duration START_TOLERANCE = Duration.ofSeconds(2);

  private LockOwner() {}

  /** Puts this process's name into a lock file that it has locked for itself. */
  static void write(FileChannel channel, Object file) throws IOException {
    ProcessHandle self = ProcessHandle.current();
    Optional<Instant> start = self.info().startInstant();
    if (start.isEmpty()) {
      return;
    }
    String line = self.pid() + " " + start.get() + " " + file + "\n";
    ByteBuffer bytes = ByteBuffer.wrap(line.getBytes(ISO_8859_1));
    if (bytes.remaining() > BYTES_MAX) {
      return;
    }
    channel.truncate(0);
    while (bytes.hasRemaining()) {
      channel.write(bytes, bytes.position());
    }
  }

  /** Takes the name out again. What is left tells that the file is a holder's. Takes no space. */
  static void erase(FileChannel channel) throws IOException {
    channel.write(ByteBuffer.wrap(new byte[] {'\n'}), 0);
    channel.truncate(1);
  }

  /** The same without the lock: another process may have it by now, and its name there. */
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

  /** The id of another process that is alive and has its name in the file; null when none has. */
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

  /** Whether it has ended, and only waits for its parent to ask; that may be for ever. */
  private static boolean isZombie(long id) {
    try {
      String state = Files.readString(Path.of("/proc", Long.toString(id), "stat"), ISO_8859_1);
      // Behind the name, which may have anything in it.
      return state.startsWith(") Z", state.lastIndexOf(')'));
    } catch (IOException e) {
      return false;
    }
  }
}
